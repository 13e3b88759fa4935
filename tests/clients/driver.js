// Calls the npm client for the tests: requests come as JSON lines, and so do answers.
//
//     {"call": ["actions", "invoke"], "options": {...}, "settings"?: {...}}
//         -> {"result": ...} | {"failed": {"status", "message", "error"}}
//     {"deploy": name, "overwrite"?: true}   a composition of compositions.js

'use strict'

const readline = require('readline')
const openwhisk = require('openwhisk')
const composer = require('openwhisk-composer')
const client = require('openwhisk-composer/client')
const compositions = require(process.argv[2])

const buffers = (key, value) => value && value.base64 ? Buffer.from(value.base64, 'base64') : value

async function answer (request) {
  if (request.deploy) {
    const composition = { name: request.deploy, ...compositions(composer)[request.deploy].compile() }
    await client({ ...request.settings }, true).compositions.deploy(composition, true)
    return (composition.actions || []).length
  }
  const [resource, verb] = request.call
  return openwhisk(request.settings)[resource][verb](request.options)
}

async function main () {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let said
    try {
      said = { result: await answer(JSON.parse(line, buffers)) }
    } catch (error) {
      said = { failed: { status: error.statusCode, message: error.message, error: error.error } }
    }
    process.stdout.write(JSON.stringify(said) + '\n')
  }
}

main()
