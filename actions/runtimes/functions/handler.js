// What an action of a Lambda function begins with: it finds the handler, and calls it as Lambda does.
//
// It stands as `index.js` in the action's archive; what it is asked and what it answers is as in handler.py,
// but that errors are told as Lambda's runtime for Node.js has them: `errorType`, `errorMessage`, `trace`.

'use strict'

const fs = require('fs')
const path = require('path')
const { createRequire } = require('module')
const { pathToFileURL } = require('url')

const TASK = path.join(__dirname, 'task')
const FUNCTION = JSON.parse(fs.readFileSync(path.join(__dirname, 'function.json'), 'utf8'))
const ENDINGS = ['', '.js', '.mjs', '.cjs']

Object.assign(process.env, FUNCTION.environment, { LAMBDA_TASK_ROOT: TASK, _HANDLER: FUNCTION.handler })
process.chdir(TASK)
let found

class Fault extends Error {
  constructor (name, message) {
    super(message)
    this.name = name
  }
}

exports.main = async asked => {
  try {
    if (!found) found = await handler()
    const result = await called(found, asked.event, context(asked))
    return { payload: plain(result) }
  } catch (error) {
    return { error: told(error, asked.request) }
  }
}

async function handler () {
  const at = FUNCTION.handler.lastIndexOf('.')
  const spelled = FUNCTION.handler.slice(0, at)
  const name = FUNCTION.handler.slice(at + 1)
  if (at < 0) throw new Fault('Runtime.MalformedHandlerName', 'Bad handler')
  const file = ENDINGS.map(ending => path.resolve(TASK, spelled + ending)).find(isFile)
  if (file === undefined) {
    throw new Fault('Runtime.ImportModuleError', `Error: Cannot find module '${spelled}'`)
  }
  const module = await loaded(file)
  const main = module[name] ?? module.default?.[name]
  if (main === undefined) throw new Fault('Runtime.HandlerNotFound', `${FUNCTION.handler} is undefined or not exported`)
  if (typeof main !== 'function') throw new Fault('Runtime.HandlerNotFound', `${FUNCTION.handler} is not a function`)
  return main
}

const isFile = file => fs.existsSync(file) && fs.statSync(file).isFile()

async function loaded (file) {
  try {
    return createRequire(file)(file)
  } catch (error) {
    if (error.code === 'ERR_REQUIRE_ESM' || (error instanceof SyntaxError && file.endsWith('.mjs'))) {
      return import(pathToFileURL(file))
    }
    if (error instanceof SyntaxError) throw new Fault('Runtime.UserCodeSyntaxError', `SyntaxError: ${error.message}`)
    if (error.code === 'MODULE_NOT_FOUND') throw new Fault('Runtime.ImportModuleError', `Error: ${error.message.split('\n')[0]}`)
    throw error
  }
}

// A handler answers by a promise, or by its callback.
function called (main, event, context) {
  return new Promise((resolve, reject) => {
    const callback = (error, result) => error === null || error === undefined ? resolve(result) : reject(error)
    Object.assign(context, { succeed: resolve, fail: reject, done: callback })
    const answer = main(event, context, callback)
    if (answer && typeof answer.then === 'function') answer.then(resolve, reject)
    else if (main.length < 3 && answer !== undefined) resolve(answer)
    else if (main.length < 2) resolve(answer)
  })
}

function context (asked) {
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionVersion: asked.version,
    functionName: asked.name,
    memoryLimitInMB: String(asked.memory_mb),
    logGroupName: asked.log_group,
    logStreamName: asked.log_stream,
    clientContext: undefined,
    identity: undefined,
    invokedFunctionArn: asked.arn,
    awsRequestId: asked.request,
    getRemainingTimeInMillis: () => Math.max(0, asked.deadline_ms - Date.now())
  }
}

function plain (result) {
  if (result === undefined) return null
  try {
    return JSON.parse(JSON.stringify(result) ?? 'null')
  } catch (error) {
    throw new Fault('Runtime.MarshalError', `Unable to stringify response body: ${error.message}`)
  }
}

function told (error, request) {
  const made = error instanceof Error
    ? { errorType: error.name, errorMessage: error.message, trace: trace(error) }
    : { errorType: typeof error, errorMessage: String(error), trace: [] }
  console.error(`Invoke Error \t${JSON.stringify({ ...made, requestId: request })}`)
  return made
}

// Its stack, from the handler on.
function trace (error) {
  const lines = String(error.stack).split('\n').map(line => line.replaceAll(TASK, '/var/task'))
  const ours = lines.findIndex(line => line.includes(__filename))
  return lines.slice(0, ours < 0 ? lines.length : ours)
}
