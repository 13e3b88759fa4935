'use strict'
// The Lambda function of an action in JavaScript: reads the conductor's message, runs the action, and sends
// the answer to the queue. Its texts and rules are those of the service's own Node.js worker. The clients of
// AWS come with Lambda's runtime.

const fs = require('fs')
const path = require('path')
const vm = require('vm')
const { createRequire } = require('module')
const { pathToFileURL } = require('url')

const ACTION = path.join(__dirname, 'action')
const VALUE_BYTES = 150000 // of a result: a message and an item of the table hold it beside other things
const MAX_CLASSES = 16
const RETURNED = ['token', 'carried'] // the conductor gets these back as they came

let loading, secrets, client

// --- loading the action --------------------------------------------------------------------------

const member = (object, name) => name.split('.').reduce((found, part) => found && found[part], object)

async function load () {
  const { main, binary } = JSON.parse(fs.readFileSync(path.join(__dirname, 'action.json'), 'utf8'))
  const found = binary ? await packaged(main) : defined(main)
  if (typeof found !== 'function') throw new Error(`Action entrypoint '${main}' is not a function.`)
  return found
}

function defined (main) {
  if (!/^[\w$]+(\.[\w$]+)*$/.test(main)) throw new Error(`'${main}' is not the name of a function`)
  const file = path.join(ACTION, 'index.js')
  const module = { exports: {} }
  const find = `\n;try { return ${main} } catch (error) { if (!(error instanceof ReferenceError)) throw error }`
  const names = ['require', 'module', 'exports', '__filename', '__dirname']
  const run = vm.compileFunction(fs.readFileSync(file, 'utf8') + find, names, { filename: file })
  const found = run(createRequire(file), module, module.exports, file, ACTION)
  return found === undefined ? member(module.exports, main) : found
}

async function packaged (main) {
  const about = path.join(ACTION, 'package.json')
  const start = (fs.existsSync(about) && JSON.parse(fs.readFileSync(about, 'utf8')).main) || 'index.js'
  const file = require.resolve(path.resolve(ACTION, start))
  try {
    return member(require(file), main)
  } catch (error) {
    if (error.code !== 'ERR_REQUIRE_ESM') throw error
    return member(await import(pathToFileURL(file)), main)
  }
}

// --- running it ----------------------------------------------------------------------------------

const failure = (code, error, raised) => raised ? { code, error, raised } : { code, error }
const said = error => (error instanceof Error ? error.message : String(error)) || 'The action failed.'

function classes (error) {
  const names = []
  for (let kind = error instanceof Error ? error.constructor : null; kind && kind.name; kind = Object.getPrototypeOf(kind)) {
    names.push(kind.name.slice(0, 100))
  }
  return names.slice(0, MAX_CLASSES)
}

async function outcome (message) {
  Object.assign(process.env, {
    __OW_ACTION_NAME: message.action,
    __OW_NAMESPACE: '_',
    __OW_ACTIVATION_ID: message.activation,
    __OW_TRANSACTION_ID: String(message.token.execution),
    __OW_IDEMPOTENCY_KEY: message.key,
    __OW_COMPLETION_TOKEN: `${message.token.execution}-${message.token.turn}-${message.token.fiber.replace(/\//g, '_')}`,
    __OW_DEADLINE: String(message.deadline)
  })
  let main, result
  try {
    main = await (loading = loading || load())
  } catch (error) {
    return failure('BadResponse', `${error.name}: ${said(error)}`)
  }
  try {
    result = await main(message.params)
  } catch (error) {
    if (error instanceof Error) console.error(error)
    const told = error instanceof Error || typeof error !== 'object' || error === null ? said(error) : error
    return failure('ApplicationError', told, classes(error))
  }
  if (result === undefined) result = {}
  if (typeof result !== 'object' || result === null) {
    return failure('BadResponse', 'The action did not return a dictionary or array.')
  }
  if (!Array.isArray(result) && 'error' in result) return failure('ApplicationError', result.error)
  return { value: result }
}

function written (answered) {
  let text
  try {
    text = JSON.stringify(answered)
  } catch (error) {
    return failure('BadResponse', `The action did not produce a valid JSON response: ${said(error)}`)
  }
  const size = Buffer.byteLength(JSON.stringify('value' in answered ? answered.value : answered.error) || '')
  if (size <= VALUE_BYTES) return JSON.parse(text)
  return failure('PayloadTooLarge',
    `The action produced a response that exceeded the allowed length: ${size} > ${VALUE_BYTES} bytes.`)
}

// --- the queue and the stores of secrets -----------------------------------------------------------

async function readSecrets () {
  for (const [name, place] of Object.entries(JSON.parse(process.env.XINGQIAO_REFERENCES || '{}'))) {
    const [[store, id]] = Object.entries(place)
    try {
      process.env[name] = await STORES[store](id)
    } catch (error) {
      throw new Error(`the variable ${name}: ${store} does not give '${id}': ${said(error)}`)
    }
  }
}

const STORES = {
  async secretsmanager (SecretId) {
    const { SecretsManagerClient, GetSecretValueCommand } = require('@aws-sdk/client-secrets-manager')
    return (await new SecretsManagerClient().send(new GetSecretValueCommand({ SecretId }))).SecretString
  },
  async ssm (Name) {
    const { SSMClient, GetParameterCommand } = require('@aws-sdk/client-ssm')
    return (await new SSMClient().send(new GetParameterCommand({ Name, WithDecryption: true }))).Parameter.Value
  }
}

async function send (answer) {
  const { SQSClient, SendMessageCommand } = require('@aws-sdk/client-sqs')
  client = client || new SQSClient()
  await client.send(new SendMessageCommand({ QueueUrl: process.env.QUEUE, MessageBody: JSON.stringify(answer) }))
}

exports.handler = async message => {
  if (typeof message.until === 'number' && Date.now() > message.until) {
    console.warn(`${message.action} of execution ${message.token.execution} was delivered after the conductor ` +
      'stopped waiting; it is not run')
    return
  }
  await (secrets = secrets || readSecrets())
  const returned = Object.fromEntries(RETURNED.filter(name => name in message).map(name => [name, message[name]]))
  await send({ is: 'completed', ...returned, outcome: written(await outcome(message)) })
}
