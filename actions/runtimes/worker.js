// The program that runs user code in Node.js, in a process of its own. It stands alone: Node's library only.
//
//     node worker.js FD TICKETS
//
// It speaks as worker.py does, over the socket that is its file descriptor FD: one JSON document a line. User
// code begins on a line only if the line's ticket can be taken from the pipe TICKETS. If the action's limit `concurrency`
// is above 1, calls run at the same time; then a call that is cancelled goes on, but nothing of it is told any more.
// What user code prints is sent line by line as it comes, so that a crash loses none.

'use strict'

const fs = require('fs')
const net = require('net')
const path = require('path')
const vm = require('vm')
const { AsyncLocalStorage } = require('async_hooks')
const { createRequire, stripTypeScriptTypes: strip } = require('module')

const LINE_CHARS = 32 << 10 // a longer line of output is sent in pieces
const [MAX_CLASSES, MAX_CLASS] = [16, 100] // names of an error's classes that are told, and characters of each
const HEAD_BYTES = 1024 // of a result that is too long, for the error
const UNPACKED_BYTES = 512 << 20 // of an archive, so that a small one cannot fill the disk
const BUSY_MS = 1 // before a full socket is written to again

const [fd, tickets] = process.argv.slice(2).map(Number)
const pause = new Int32Array(new SharedArrayBuffer(4))

// --- the socket ----------------------------------------------------------------------------------

// Synchronous, so that it has left this process before user code can end it.
function write (line) {
  let left = Buffer.from(line + '\n')
  while (left.length) {
    try {
      left = left.subarray(fs.writeSync(fd, left))
    } catch (error) {
      if (error.code !== 'EAGAIN') process.exit(1)
      Atomics.wait(pause, 0, 0, BUSY_MS)
    }
  }
}

let ticket = 0
const taken = Buffer.alloc(4)

// Takes the ticket of a line; false if the server has taken the line back.
function begin (number) {
  try {
    while (ticket < number && fs.readSync(tickets, taken)) ticket = taken.readUInt32LE()
  } catch {} // there is none
  return ticket === number
}

const send = document => write(JSON.stringify(document))

// --- what user code prints -----------------------------------------------------------------------

// A call under way: the bytes of log that it may still write, and what it has printed without the end of a line.
class Call {
  constructor (id) {
    this.id = id
    this.left = logsBytes
    this.partial = { stdout: '', stderr: '' }
    this.dropped = false
  }
}

let [logsBytes, together] = [0, false]
let stray = new Call() // gets what is no call's
const calls = new AsyncLocalStorage()
const running = new Map() // calls by id, if several may be under way

function emit (call, stream, text) {
  if (call.left < 0 || call.dropped) return
  const start = `${new Date().toISOString().slice(0, -1)}000000Z ${stream}: `
  call.left -= start.length + Buffer.byteLength(text) + 1
  if (call.left < 0) {
    text = `Logs were truncated because the total bytes size exceeds the limit of ${logsBytes} bytes.`
  }
  send({ log: start + text, id: call.id })
}

function capture (stream) {
  process[stream].write = (chunk, encoding, done) => {
    const call = calls.getStore() || stray
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const lines = (call.partial[stream] + text).split('\n')
    const partial = lines.pop()
    if (partial.length > LINE_CHARS) lines.push(partial)
    call.partial[stream] = partial.length > LINE_CHARS ? '' : partial
    for (const line of lines) {
      if (call.left < 0) break
      for (let at = 0; at < Math.max(1, line.length); at += LINE_CHARS) {
        emit(call, stream, line.slice(at, at + LINE_CHARS))
      }
    }
    const told = typeof encoding === 'function' ? encoding : done
    if (typeof told === 'function') process.nextTick(told)
    return true
  }
}

;['stdout', 'stderr'].forEach(capture)

function flush (call) {
  for (const [stream, text] of Object.entries(call.partial)) {
    if (text) emit(call, stream, text)
    call.partial[stream] = ''
  }
}

// --- taking code in ------------------------------------------------------------------------------

// What to call, by the hash of an inline function; '' stands for the action itself.
async function load (init) {
  const here = createRequire(path.join(process.cwd(), 'index.js'))
  const names = Object.keys(init.functions)
  if (names.length) {
    return new Map(names.map(name => [name, inline(init.functions[name].code, here)]))
  }
  const main = init.binary ? await unpacked(init, here) : await written(init, here)
  if (typeof main !== 'function') throw new Error(`Action entrypoint '${init.main}' is not a function.`)
  return new Map([['', main]])
}

function defined (init, require) {
  return ran(compiled(init), init, require)
}

function compiled ({ code, main, name }) {
  if (!/^[\w$]+(\.[\w$]+)*$/.test(main)) throw new Error(`'${main}' is no name of a function`)
  const find = `\n;try { return ${main} } catch (error) { if (!(error instanceof ReferenceError)) throw error }`
  const names = ['require', 'module', 'exports', '__filename', '__dirname']
  return vm.compileFunction(code + find, names, { filename: `${name}.js` })
}

function ran (run, { main, name }, require) {
  const module = { exports: {} }
  const found = run(require, module, module.exports, `${name}.js`, process.cwd())
  return found === undefined ? member(module.exports, main) : found
}

// A module of ECMAScript has a file, as `import` wants one; types are stripped if that makes it JavaScript.
async function written (init, require) {
  let run
  try {
    run = compiled(init)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const code = untyped(init.code, error)
    if (!ESM.test(code)) return defined({ ...init, code }, require)
    const file = path.resolve(`${init.name}.mjs`)
    fs.writeFileSync(file, code)
    link()
    return exported(await imported(file), init.main)
  }
  return ran(run, init, require)
}

const ESM = /^[ \t]*(import|export)\b/m
const TYPED = /^[ \t]*(export[ \t]+)?(interface|type|enum)[ \t]+\w|[)\w][ \t]{0,9}\??:[ \t]{0,9}(string|number|boolean|any|unknown|void|Promise|Record)\b/m
const TYPESCRIPT = /\.[mc]?ts$/
const STRIPS = Boolean(process.features.typescript) && typeof strip === 'function'
const CANNOT_STRIP = `is TypeScript, which Node.js ${process.version} cannot run: ` +
  'install Node.js 22.18 or newer on the server, or compile the action to JavaScript'

function untyped (code, error) {
  if (!TYPED.test(code)) return code
  if (!STRIPS) throw new SyntaxError(`the code ${CANNOT_STRIP} (${error.message})`)
  return strip(code)
}

const imported = file => import(require('url').pathToFileURL(file))

// `import` does not look where NODE_PATH points, but in a folder `node_modules` beside the importing file.
function link () {
  const packages = process.env.NODE_PATH
  if (!packages) return
  for (const name of fs.readdirSync(packages)) {
    const inside = name.startsWith('@') ? fs.readdirSync(path.join(packages, name)) : ['']
    for (const each of inside.map(below => path.join(name, below))) {
      const target = path.resolve('node_modules', each)
      if (name.startsWith('.') || fs.existsSync(target)) continue
      fs.mkdirSync(path.dirname(target), { recursive: true })
      fs.symlinkSync(path.join(packages, each), target)
    }
  }
}

const exported = (module, name) => member(module, name) || (module.default && member(module.default, name))

const member = (object, name) => name.split('.').reduce((found, part) => found && found[part], object)

// Composer's rule: an expression that is a function is called; variables that are visible are its own to
// see and to set.
function inline (code, require) {
  return (params, variables) => {
    const names = Object.keys(variables).filter(name => /^[A-Za-z_$][\w$]*$/.test(name))
    const body = [
      ...names.map(name => `var ${name} = variables[${JSON.stringify(name)}];`),
      'const keep = () => {',
      ...names.map(name => `variables[${JSON.stringify(name)}] = ${name};`),
      '};',
      `const it = (${code}\n);`,
      'return [keep, typeof it === "function" ? () => it(params) : () => it]'
    ].join('\n')
    const bind = vm.compileFunction(body, ['params', 'variables', 'require'], { filename: 'function.js' })
    const [keep, call] = bind(params, variables, require)
    return { keep, call }
  }
}

// --- archives ------------------------------------------------------------------------------------

async function unpacked ({ code, main }, require) {
  const raw = Buffer.from(code, 'base64')
  for (const [name, content] of raw[0] === 0x50 ? zipped(raw) : tarred(raw)) place(name, content)
  let start = STARTS.find(name => fs.existsSync(name)) || STARTS[0]
  if (fs.existsSync('package.json')) start = JSON.parse(fs.readFileSync('package.json', 'utf8')).main || start
  const file = path.resolve(start)
  link()
  if (TYPESCRIPT.test(file) && fs.existsSync(file)) return exported(await loadedTypes(file), main)
  try {
    require.resolve(file)
  } catch {
    throw new Error(`Zipped actions must contain either package.json or index.js at the root; there is no ${start}.`)
  }
  return exported(await loaded(file, require), main)
}

const STARTS = ['index.js', 'index.mjs', 'index.cjs', 'index.ts', 'index.mts', 'index.cts']

function loadedTypes (file) {
  if (!STRIPS) throw new Error(`${path.basename(file)} ${CANNOT_STRIP}`)
  return imported(file)
}

async function loaded (file, require) {
  try {
    return require(file)
  } catch (error) {
    if (error.code !== 'ERR_REQUIRE_ESM' && error.code !== 'ERR_REQUIRE_ASYNC_MODULE') throw error
    return imported(require.resolve(file))
  }
}

function place (name, content) {
  const target = path.resolve(name)
  if (!target.startsWith(process.cwd() + path.sep)) throw new Error(`the archive has ${name}, which lies outside it`)
  if (name.endsWith('/')) return fs.mkdirSync(target, { recursive: true })
  fs.mkdirSync(path.dirname(target), { recursive: true })
  fs.writeFileSync(target, content)
}

// Entries by the central directory, which has the sizes.
function * zipped (raw) {
  const zlib = require('zlib')
  const end = raw.lastIndexOf('PK\x05\x06')
  if (end < 0) throw new Error('the zip file is cut short')
  let at = raw.readUInt32LE(end + 16)
  let left = UNPACKED_BYTES
  for (let count = raw.readUInt16LE(end + 10); count > 0; count--) {
    const method = raw.readUInt16LE(at + 10)
    const [packed, size] = [raw.readUInt32LE(at + 20), raw.readUInt32LE(at + 24)]
    const [named, extra, comment] = [28, 30, 32].map(offset => raw.readUInt16LE(at + offset))
    const local = raw.readUInt32LE(at + 42)
    const name = raw.toString('utf8', at + 46, at + 46 + named)
    const data = local + 30 + raw.readUInt16LE(local + 26) + raw.readUInt16LE(local + 28)
    const body = raw.subarray(data, data + packed)
    left -= size
    if (left < 0) throw new Error(`the archive is larger than ${UNPACKED_BYTES} bytes`)
    if (method !== 0 && method !== 8) throw new Error(`${name} is packed by a method that is not known`)
    yield [name, method === 0 ? body : zlib.inflateRawSync(body, { maxOutputLength: size || 1 })]
    at += 46 + named + extra + comment
  }
}

function * tarred (raw) {
  const all = require('zlib').gunzipSync(raw, { maxOutputLength: UNPACKED_BYTES })
  const text = (from, to) => all.toString('utf8', from, to).replace(/\0.*$/s, '')
  for (let at = 0; at + 512 <= all.length && all[at] !== 0;) {
    const size = parseInt(text(at + 124, at + 136), 8) || 0
    const [prefix, name, type] = [text(at + 345, at + 500), text(at, at + 100), text(at + 156, at + 157)]
    const full = prefix ? `${prefix}/${name}` : name
    if (type === '5') yield [full.replace(/\/*$/, '/'), null]
    if (type === '0' || type === '') yield [full, all.subarray(at + 512, at + 512 + size)]
    at += 512 + Math.ceil(size / 512) * 512
  }
}

// --- running it ----------------------------------------------------------------------------------

const failure = (error, code, variables, raised) => JSON.stringify({ error, code, variables, raised })

let untold = {} // variables that only the last run was to be told

// The line that answers a request, whatever user code does short of ending the process.
async function answer (functions, request, limit) {
  if ('waits_ms' in request) request.env.__OW_DEADLINE = String(Date.now() + request.waits_ms)
  for (const [name, value] of Object.entries({ ...untold, ...request.env })) {
    if (value === null) delete process.env[name]
    else process.env[name] = value
  }
  untold = request.untold ?? {}
  const fields = 'function' in request
    ? await inlined(functions.get(request.function), request)
    : await called(functions.get(''), request.params)
  if (typeof fields === 'string') return fields
  const texts = []
  for (const [name, value] of Object.entries(fields)) {
    let text
    try {
      text = JSON.stringify(value)
    } catch (error) {
      return failure(`The action did not produce a valid JSON response: ${said(error)}`, 'BadResponse')
    }
    if (Buffer.byteLength(text) > limit) return tooLong(text, limit)
    texts.push(`"${name}":${text}`)
  }
  return `{${texts.join(',')}}`
}

async function called (main, params) {
  let result
  try {
    result = main(params)
  } catch (error) {
    show(error)
    return failure(`An error has occurred: ${said(error)}`, 'BadResponse', undefined, classes(error))
  }
  try {
    result = await result
  } catch (error) {
    if (error instanceof Error) show(error)
    return failure(serialized(error), 'ApplicationError', undefined, classes(error))
  }
  if (result === undefined) result = {}
  if (typeof result !== 'object' || result === null) {
    return failure('The action did not return a dictionary or array.', 'BadResponse')
  }
  return { value: result }
}

async function inlined (prepare, { params, variables }) {
  try {
    const { keep, call } = prepare(params, variables)
    let value
    try {
      value = await call()
    } finally {
      keep()
    }
    if (typeof value === 'function') {
      return failure('Function combinator evaluated to a function type', 'ApplicationError')
    }
    const made = { value: value === undefined ? params : value }
    return Object.keys(variables).length ? { ...made, variables } : made
  } catch (error) {
    show(error)
    return failure('Function combinator threw an exception (see log for details)', 'ApplicationError', variables,
      classes(error))
  }
}

// The name of an Error and the names of its class and of that class's bases, by which `errors=` can name it.
function classes (error) {
  try {
    if (!(error instanceof Error)) return undefined
    const names = [error.name]
    for (let kind = error.constructor; typeof kind === 'function' && kind.name; kind = Object.getPrototypeOf(kind)) {
      names.push(kind.name)
    }
    return [...new Set(names)].filter(name => typeof name === 'string').slice(0, MAX_CLASSES)
      .map(name => name.slice(0, MAX_CLASS))
  } catch {
    return undefined
  }
}

// Writes an error into the log, without our own lines of its stack.
function show (error) {
  if (error instanceof Error) error.stack = stack(error)
  console.error(error)
}

function stack (error) {
  const lines = String(error.stack).split('\n')
  const ours = lines.findIndex(line => line.includes(__filename))
  return lines.slice(0, ours < 0 ? lines.length : ours).join('\n')
}

// What a promise is rejected with, as JSON: an Error by its name, message, stack and own fields.
function serialized (error) {
  if (!error) return {}
  const plain = error instanceof Error
    ? { name: error.name, message: error.message, stack: stack(error), ...error }
    : error
  try {
    const text = JSON.stringify(plain)
    return text === undefined ? {} : JSON.parse(text)
  } catch {
    return said(error)
  }
}

function said (error) {
  try {
    return String(error)
  } catch {
    return 'an error that cannot be told'
  }
}

function tooLong (text, limit) {
  const head = Buffer.from(text).toString('utf8', 0, HEAD_BYTES)
  return failure(`The action produced a response that exceeded the allowed length: ${Buffer.byteLength(text)} > ` +
    `${limit} bytes. The truncated response was: ${head}`, 'PayloadTooLarge')
}

// --- serving -------------------------------------------------------------------------------------

let [limit, functions] = [0, new Map()]

async function take ({ init }) {
  logsBytes = init.logs_bytes
  limit = init.result_bytes
  stray = new Call()
  Object.assign(process.env, init.env)
  begin(1)
  try {
    functions = await load(init)
  } catch (error) {
    show(error)
    flush(stray)
    send({ failed: said(error).slice(0, LINE_CHARS) })
    return
  }
  send({ ready: true, together: together = init.concurrency > 1 })
}

async function run (request) {
  if (!begin(request.id)) return
  stray = new Call()
  const began = process.hrtime.bigint()
  const line = await answer(functions, request, limit)
  const took = (process.hrtime.bigint() - began) / 1000n
  flush(stray)
  write(`{"id":${request.id},"us":${took},${line.slice(1)}`)
}

async function runBeside (request) {
  if (!begin(request.id)) return
  const call = new Call(request.id)
  running.set(call.id, call)
  stray.left = logsBytes
  const line = await calls.run(call, () => answer(functions, request, limit))
  flush(call)
  flush(stray)
  running.delete(call.id)
  if (!call.dropped) write(`{"id":${call.id},${line.slice(1)}`)
}

function drop (id) {
  const call = running.get(id)
  if (!call) return // its answer is on the way
  call.dropped = true
  send({ id, left: false }) // a promise cannot be stopped
}

// Does what takes time the first time: it may have been started ahead.
async function prepare () {
  const init = { name: 'nothing', code: 'function main (p) { return p }', main: 'main', functions: {} }
  await answer(await load(init), { env: { NOTHING: null }, params: {} }, HEAD_BYTES)
  JSON.parse(JSON.stringify(init))
}

function main () {
  const lines = []
  let partial = ''
  let busy = false
  const next = async () => {
    if (busy || !lines.length) return
    busy = true
    const document = JSON.parse(lines.shift())
    if ('cancel' in document) drop(document.cancel)
    else if (together) runBeside(document)
    else await ('init' in document ? take(document) : run(document))
    busy = false
    next()
  }
  const socket = new net.Socket({ fd, readable: true, writable: false })
  socket.setEncoding('utf8')
  socket.on('data', text => {
    const parts = (partial + text).split('\n')
    partial = parts.pop()
    lines.push(...parts)
    next()
  })
  socket.on('close', () => process.exit(0))
}

prepare().then(main)
