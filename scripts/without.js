// Checks whether Pipespan works without some of its features: `node scripts/without.js NAME… | --each | --all [--test]`. The script copies the
// checkout to a temporary folder. There it deletes the folders of the named features (including those in `src/platform`), their tests and the
// features that need them, as well as their lines in `src/features.ts`. Then it type-checks the remaining code. `--test` also runs the core's tests.
// `--each` removes the features one by one, and then all of them; only this last round runs the tests. All rounds share one copy, so that each type
// check after the first only checks the effects of the deletion.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const list = path.join('src', 'features.ts')

/** The test folders that test only the core. Tests in other folders may use features. */
const coreTests = ['model', 'flow', 'lib', 'platform', 'core']

/** @returns {Promise<readonly { name: string, needs?: readonly string[] }[]>} */
async function known() {
  return (await import(pathToFileURL(path.join(root, list)).href)).features
}

/**
 * Returns the named features, and all features that need one of them directly or indirectly.
 * @param {readonly { name: string, needs?: readonly string[] }[]} features
 * @param {readonly string[]} named
 */
export function goingWith(features, named) {
  const gone = new Set(named)
  for (let before = -1; before < gone.size;) {
    before = gone.size
    for (const { name, needs = [] } of features) if (needs.some(one => gone.has(one))) gone.add(name)
  }
  return features.map(({ name }) => name).filter(name => gone.has(name))
}

/**
 * Removes these features from the list: their imports and their entries.
 * @param {string} text
 * @param {readonly string[]} gone
 */
export function listWithout(text, gone) {
  const names = gone.flatMap(name => {
    const found = new RegExp(`^import \\{ (\\w+) \\} from './features/${name}/feature.ts'\n`, 'm').exec(text)
    if (found === null) throw new Error(`${list} does not import the feature ${name}`)
    text = text.replace(found[0], '')
    return [found[1]]
  })
  return text.replace(/(features: readonly Feature\[\] = )\[([^\]]*)\]/, (_, head, entries) => {
    const left = entries.split(',').map(entry => entry.trim())
    return `${head}[${left.filter(entry => entry !== '' && !names.includes(entry)).join(', ')}]`
  })
}

/**
 * Copies the checkout, or some of its paths, to a folder.
 * @param {string} folder
 * @param {readonly string[]} paths
 */
function copyTo(folder, paths = ['.']) {
  const chosen = ['--cached', '--others', '--exclude-standard', '--', ...paths]
  const listed = execFileSync('git', ['ls-files', '-z', ...chosen], { cwd: root })
  for (const file of listed.toString().split('\0')) {
    if (file === '' || !existsSync(path.join(root, file))) continue
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    cpSync(path.join(root, file), path.join(folder, file), { recursive: true, verbatimSymlinks: true })
  }
}

/** @param {string} name */
const foldersOf = name =>
  [
    ['src', 'features'],
    ['src', 'platform'],
    ['test', 'features'],
  ].map(room => path.join(...room, name))

/**
 * @param {string} folder
 * @param {string} tool
 * @param {readonly string[]} args
 */
function passes(folder, tool, args) {
  const main = path.join(root, 'node_modules', tool)
  return spawnSync(process.execPath, [main, ...args], { cwd: folder, stdio: 'inherit' }).status === 0
}

/**
 * Whether the remaining code passes the checks.
 * @param {string} folder
 * @param {readonly string[]} gone
 * @param {boolean} tested
 */
function stands(folder, gone, tested) {
  console.log(`without ${gone.join(', ')}`)
  for (const own of gone.flatMap(foldersOf)) rmSync(path.join(folder, own), { recursive: true, force: true })
  writeFileSync(path.join(folder, list), listWithout(readFileSync(path.join(folder, list), 'utf8'), gone))
  const incremental = ['--incremental', '--tsBuildInfoFile', path.join(folder, 'types')]
  const isTyped = passes(folder, 'typescript/lib/tsc.js', ['--noEmit', ...incremental])
  if (!isTyped || !tested) return isTyped
  const folders = coreTests.map(name => path.join('test', name, '/'))
  return passes(folder, 'vitest/vitest.mjs', ['run', ...folders, 'test/architecture.test.ts'])
}

/** @param {readonly string[]} args */
async function main(args) {
  const features = await known()
  const all = features.map(({ name }) => name)
  const named = args.filter(arg => !arg.startsWith('--'))
  const wrong = named.filter(name => !all.includes(name))
  const flags = args.filter(arg => arg.startsWith('--') && !['--all', '--each', '--test'].includes(arg))
  const isWhole = args.includes('--all') || args.includes('--each')
  if (wrong.length + flags.length > 0 || (named.length === 0) !== isWhole) {
    console.error(`Usage: node scripts/without.js NAME… | --each | --all [--test]. The features: ${all.join(', ')}.`)
    return 2
  }
  const rounds = args.includes('--each') ? [...all.map(name => [name]), all] : [isWhole ? all : named]
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-without-'))
  try {
    copyTo(folder)
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
    for (const round of rounds) {
      const gone = goingWith(features, round)
      if (!stands(folder, gone, args.includes('--test') && round === rounds.at(-1))) return 1
      copyTo(folder, [list, ...gone.flatMap(foldersOf)])
    }
    return 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = await main(process.argv.slice(2))
