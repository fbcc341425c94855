// Measures how many small mistakes the tests catch: `npm run mutants`. It chooses random mutants in some source folders, runs the tests on each in a
// copy of the checkout, and reports which mutants survived. CONTRIBUTING.md explains the script.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { Random } from '../../src/simulator/platform/random.ts'
import { Compiler } from './compiler.ts'
import { mutantsOf, mutated, type Mutant } from './mutations.ts'
import { Sandbox } from './sandbox.ts'

const usage = `npm run mutants -- [options]
  --seed N          chooses the same mutants again (default: a new seed each time)
  --count N         number of mutants (default: 100), distributed evenly over the rooms
  --rooms a,b       folders of src (default: nine folders of the core)
  --file a.ts:12    tries all mutants of this line of src/a.ts, or of the whole file, instead of a random choice
  --quick           runs only tests that import the file, and no tests that start whole daemons`

const core = [
  'model',
  'core/take-in',
  'core/settle',
  'core/send',
  'core/telemetry',
  'core/store/sql',
  'core/find',
  'core/complete',
  'features/tokens',
]
const minute = 60_000
/** How many of 100 mutants the tests must kill. */
const minScore = 85
const root = path.join(import.meta.dirname, '..', '..')

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    count: { type: 'string', default: '100' },
    rooms: { type: 'string', default: core.join(',') },
    file: { type: 'string', multiple: true, default: [] },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const texts = new Map<string, string>()
/** Returns the text of a file as it was when the script started, so that edits in the meantime do not move the mutants. */
function textOf(file: string): string {
  const text = texts.get(file) ?? readFileSync(path.join(root, file), 'utf8')
  texts.set(file, text)
  return text
}
const filesOf = (room: string): string[] =>
  readdirSync(path.join(root, 'src', room), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => path.join('src', room, file))
    .sort()

function draw(): Mutant[] {
  const compiler = new Compiler(root)
  const compiles = (mutant: Mutant): boolean => compiler.accepts(mutant.file, mutated(textOf(mutant.file), mutant))
  if (values.file.length > 0)
    return values.file.flatMap(place => {
      const [file = '', line] = place.replace(/^src\//, '').split(':')
      const all = mutantsOf(path.join('src', file), textOf(path.join('src', file)))
      return all.filter(mutant => line === undefined || mutant.line === Number(line)).filter(compiles)
    })
  const random = new Random(Number(values.seed))
  const rooms = values.rooms
    .split(',')
    .map(room => random.shuffle(filesOf(room).flatMap(file => mutantsOf(file, textOf(file)))))
  const drawn: Mutant[] = []
  while (drawn.length < Number(values.count) && rooms.some(left => left.length > 0))
    for (const left of rooms) {
      let next = left.pop()
      while (next !== undefined && !compiles(next)) next = left.pop()
      if (next !== undefined && drawn.length < Number(values.count)) drawn.push(next)
    }
  return drawn
}

const roomOf = (mutant: Mutant): string =>
  values.rooms.split(',').find(room => mutant.file.startsWith(path.join('src', room, path.sep))) ??
  path.dirname(mutant.file).slice(4)

interface Stage {
  readonly name: string
  /** Limits the tests to those of `npm test`. By default all tests run. */
  readonly part?: 'quick'
  readonly args: (mutant: Mutant) => string[]
  readonly minutes: number
  /** The maximum number of mutants that are tried in one test run. */
  readonly together: number
}

/** Returns the tests of the innermost source folder that has tests. */
function roomTests(file: string): string {
  let folder = path.dirname(path.relative('src', file))
  while (!existsSync(path.join(root, 'test', folder))) folder = path.dirname(folder)
  return path.join('test', folder, path.sep)
}
/** The folders whose tests start whole daemons or test the deployment. */
const whole = ['release', 'bounds', 'crash', 'e2e', 'attack', 'demo', 'console', 'deploy', 'bench'].map(
  one => `test/${one}/`,
)
const without = (folders: readonly string[]): string[] => folders.flatMap(folder => ['--exclude', `${folder}**`])

/** The stages, from the quickest tests to all tests. Most mutants are killed in the first stage. */
const stages: readonly Stage[] = [
  {
    name: 'the quick tests of its folder',
    part: 'quick',
    args: ({ file }) => ['run', roomTests(file)],
    minutes: 4,
    together: 1,
  },
  {
    name: 'quick related tests',
    part: 'quick',
    args: ({ file }) => ['related', file, '--run', ...without([...whole, roomTests(file)])],
    minutes: 15,
    together: 1,
  },
  ...(values.quick ? [] : [{ name: 'all tests', args: () => ['run'], minutes: 30, together: 4 }]),
]

/** Divides mutants into groups of at most `size`. Each group contains at most one mutant per file. */
function groupsOf(mutants: readonly Mutant[], size: number): Mutant[][] {
  const groups: Mutant[][] = []
  for (const mutant of mutants) {
    const fits = (group: readonly Mutant[]): boolean =>
      group.length < size && group.every(({ file }) => file !== mutant.file)
    const group = groups.find(fits)
    if (group === undefined) groups.push([mutant])
    else group.push(mutant)
  }
  return groups
}

/**
 * Tries several mutants in one test run, and returns those that survive. If the tests pass, all of the mutants survive. Otherwise each half of them
 * is tried by itself, down to single mutants. Most mutants that reach the last stage survive it, so this takes a fraction of the time needed to try
 * each mutant alone.
 */
async function survivorsOf(sandbox: Sandbox, stage: Stage, group: readonly Mutant[]): Promise<readonly Mutant[]> {
  const [first] = group
  if (first === undefined) return []
  for (const mutant of group) sandbox.write(mutant.file, mutated(textOf(mutant.file), mutant))
  const tested = await sandbox.test(stage.args(first), stage.minutes * minute, stage.part)
  for (const { file } of group) sandbox.write(file, textOf(file))
  if (tested.kind !== 'passed' && group.length > 1) {
    const half = Math.ceil(group.length / 2)
    return [
      ...(await survivorsOf(sandbox, stage, group.slice(0, half))),
      ...(await survivorsOf(sandbox, stage, group.slice(half))),
    ]
  }
  const verdict = { passed: 'alive', failed: 'killed', timeout: 'killed: it ran for too long' }[tested.kind]
  const by = tested.kind === 'failed' ? ` by ${tested.by}` : ''
  for (const mutant of group) console.log(`${nameOf(mutant)} · ${verdict}${by}`)
  return tested.kind === 'passed' ? group : []
}

async function judge(): Promise<void> {
  const mutants = draw()
  if (mutants.length === 0)
    throw new Error('There is no mutant to try. Choose other rooms, another file or another count.')
  const sandbox = new Sandbox(root)
  console.log(`${mutants.length} mutants, seed ${values.seed}, tried in ${sandbox.folder}`)
  try {
    const clean = await sandbox.test(
      ['run', ...(values.quick ? new Set(mutants.map(({ file }) => roomTests(file))) : [])],
      30 * minute,
      values.quick ? 'quick' : undefined,
    )
    if (clean.kind !== 'passed') throw new Error(`The tests fail without a mutant: ${JSON.stringify(clean)}.`)
    let alive: readonly Mutant[] = mutants
    for (const stage of stages) {
      const survivors: Mutant[] = []
      for (const group of groupsOf(alive, stage.together)) survivors.push(...(await survivorsOf(sandbox, stage, group)))
      alive = survivors
      report(stage.name, mutants, alive)
    }
    if (mutants.length - alive.length < (minScore / 100) * mutants.length) process.exitCode = 1
  } finally {
    await sandbox.dispose()
  }
}

const nameOf = (mutant: Mutant): string => `${mutant.file}:${mutant.line} · ${mutant.change}`

function report(stage: string, mutants: readonly Mutant[], survivors: readonly Mutant[]): void {
  const scoreOf = (all: number, alive: number): string =>
    `${all - alive} of ${all} killed (${Math.round((100 * (all - alive)) / all)} %)`
  console.log(`\nAfter ${stage}:`)
  for (const room of new Set(mutants.map(roomOf))) {
    const count = (list: readonly Mutant[]): number => list.filter(one => roomOf(one) === room).length
    console.log(`${room.padEnd(12)} ${scoreOf(count(mutants), count(survivors))}`)
  }
  console.log(`${'all'.padEnd(12)} ${scoreOf(mutants.length, survivors.length)}`)
  for (const mutant of survivors)
    console.log(`survived: ${nameOf(mutant)}\n    ${textOf(mutant.file).split('\n')[mutant.line - 1]?.trim() ?? ''}`)
}

if (values.help) console.log(usage)
else {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  await judge()
}
