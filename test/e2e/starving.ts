// A process that can open, read and write nothing while a file is there: no descriptors, in all of its threads. Loaded before the
// program (`node --import`). And it reports which timers went off meanwhile: by the file that set them.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import promises from 'node:fs/promises'
import { DatabaseSync, StatementSync } from 'node:sqlite'

const { existsSync, appendFileSync, writeSync } = fs
const sign = process.env.STARVE_WHILE ?? ''
const reported = process.env.STARVE_TELL ?? ''
let telling = false

type Method = (this: unknown, ...args: unknown[]) => unknown

function isStarved(): boolean {
  return !telling && existsSync(sign)
}

function fault(): Error {
  return Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE', errno: -24, syscall: 'open' })
}

function wrap(owner: object, names: readonly string[], starved: (args: unknown[]) => unknown): void {
  for (const name of names) {
    const method = Reflect.get(owner, name) as Method
    const around: Method = function (...args) {
      return isStarved() ? starved(args) : method.apply(this, args)
    }
    // `promisify` must find it as it was.
    Object.defineProperties(around, Object.getOwnPropertyDescriptors(method))
    Object.defineProperty(owner, name, { value: around, writable: true, configurable: true })
  }
}

const thrown = (): never => {
  throw fault()
}
const called = (args: unknown[]): void => {
  const back = args.findLast(arg => typeof arg === 'function') as (error: Error) => void
  process.nextTick(back, fault())
}
wrap(
  fs,
  [
    'openSync',
    'readFileSync',
    'writevSync',
    'readSync',
    'statSync',
    'readdirSync',
    'mkdirSync',
    'ftruncateSync',
    'fsyncSync',
    'fdatasyncSync',
    'unlinkSync',
  ],
  thrown,
)
wrap(fs, ['writeSync'], thrown)
// Not `fdatasync`: it needs no descriptor, and ends the daemon where it fails.
wrap(fs, ['open', 'fsync', 'stat', 'readFile', 'writeFile', 'writev'], called)
wrap(promises, ['open', 'readFile', 'writeFile', 'unlink', 'stat'], async () => thrown())
wrap(DatabaseSync.prototype, ['exec', 'prepare'], thrown)
wrap(StatementSync.prototype, ['run', 'get', 'all'], thrown)
// Its log is open already.
const starvedWrite = fs.writeSync as Method
fs.writeSync = ((...args: unknown[]) =>
  args[0] === 2 ? (writeSync as Method)(...args) : starvedWrite(...args)) as typeof fs.writeSync
syncBuiltinESMExports()

/** No timer takes longer, ms: what goes off every minute shows the same sooner. */
const longest = 1_000

const set = globalThis.setInterval
globalThis.setInterval = ((work: () => void, ms: number) => {
  const setBy = /\/src\/(?!lib\/timer)([\w/-]+\.ts)/.exec(new Error().stack ?? '')?.[1] ?? 'elsewhere'
  return set(
    () => {
      if (existsSync(sign)) {
        telling = true
        appendFileSync(reported, `${setBy}\n`)
        telling = false
      }
      work()
    },
    Math.min(ms, longest),
  )
}) as typeof setInterval
