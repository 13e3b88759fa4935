// Evaluates with the npm package jsonata: a line [expression, bindings] in, a line of what it says out.
const jsonata = require('jsonata');
const lines = require('readline').createInterface({input: process.stdin});

const isFunction = (value) =>
  typeof value === 'function' || (value && (value._jsonata_lambda || value._jsonata_function));

function written(value) {
  return JSON.stringify(value, (key, member) => {
    if (isFunction(member)) return '<function>';
    return typeof member === 'number' && !isFinite(member) ? String(member) : member;
  });
}

(async () => {
  for await (const line of lines) {
    const [text, bindings] = JSON.parse(line);
    try {
      const expression = jsonata(text);
      expression.assign('eval', undefined); // AWS has none
      const value = await expression.evaluate(undefined, bindings);
      console.log(value === undefined ? '{}' : `{"value": ${written(value)}}`);
    } catch (error) {
      console.log(JSON.stringify({code: error.code || null, message: error.message}));
    }
  }
})();
