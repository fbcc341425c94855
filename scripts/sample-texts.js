// Draws pieces of prose at random, so that a person can judge whether they are plain:
// `node scripts/sample-texts.js --seed 7 [--count 60] [--since REF]`. It draws the same number of each kind: comments, test names, decisions,
// documentation, and commit subjects (since REF, by default the last 100). For a given commit, the same seed draws the same pieces.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import ts from 'typescript'

const options = {
  seed: { type: 'string' },
  count: { type: 'string', default: '60' },
  since: { type: 'string', default: 'HEAD~100' },
}
const { seed, count, since } = parseArgs({ options }).values
if (seed === undefined || !(Number(count) > 0)) {
  console.error('Pass --seed N, and --count N for a number other than 60.')
  process.exit(2)
}

const files = git('ls-files').split('\n')
const sources = files.filter(file => /^(src|test|scripts|bench)\/.*\.(ts|js)$/.test(file))
const kinds = {
  comment: sources.flatMap(commentsOf),
  'test name': sources.filter(file => file.startsWith('test/')).flatMap(testNamesOf),
  decision: files.filter(file => /^docs\/decisions\/\d.*\.md$/.test(file)).flatMap(paragraphsOf),
  documentation: files
    .filter(file => /^(docs\/[^/]*|docs\/internals\/.*|[A-Z]+)\.md$/.test(file))
    .flatMap(paragraphsOf),
  commit: git('log', '--format=%h %s', `${since}..HEAD`)
    .split('\n')
    .filter(Boolean)
    .map(text => ['git log', text]),
}

const random = generator(Number(seed))
const each = Math.ceil(Number(count) / Object.keys(kinds).length)
for (const [kind, pieces] of Object.entries(kinds)) {
  const left = [...pieces]
  for (let n = 0; n < each && left.length > 0; n += 1) {
    const [[place, text]] = left.splice(Math.floor(random() * left.length), 1)
    console.log(`${kind} · ${place}\n  ${text.replaceAll('\n', '\n  ')}\n`)
  }
}

function commentsOf(file) {
  const text = readFileSync(file, 'utf8')
  // Adjacent comment lines are treated as one text.
  return [...text.matchAll(/^[ \t]*(\/\*\*[\s\S]*?\*\/|\/\/.*(?:\n[ \t]*\/\/.*)*)/gm)]
    .map(({ 1: comment, index }) => [
      `${file}:${lineAt(text, index)}`,
      comment.replaceAll(/^[ \t]*(\/\*\*|\*\/|\*|\/\/) ?| ?\*\/$/gm, ''),
    ])
    .filter(([, comment]) => comment.trim().length > 20 && !/eslint-|prettier-/.test(comment))
}

function testNamesOf(file) {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const found = []
  const visit = (node, above) => {
    let names = above
    const [name] = node.arguments ?? []
    if (ts.isCallExpression(node) && name && (ts.isStringLiteralLike(name) || ts.isTemplateExpression(name))) {
      const called = /^(describe|it|test)\b/.exec(node.expression.getText())?.[1]
      if (called !== undefined) names = [...above, name.getText().slice(1, -1)]
      if (called === 'it' || called === 'test')
        found.push([`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`, names.join(' > ')])
    }
    ts.forEachChild(node, child => visit(child, names))
  }
  visit(source, [])
  return found
}

function paragraphsOf(file) {
  const text = readFileSync(file, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, block =>
    '\n'.repeat(block.split('\n').length - 1),
  )
  return [...text.matchAll(/(?:^|\n\n)((?:.+\n?)+)/g)]
    .map(({ 1: paragraph, index }) => [`${file}:${lineAt(text, index) + (index === 0 ? 0 : 2)}`, paragraph.trim()])
    .filter(([, paragraph]) => paragraph.length > 40 && !paragraph.startsWith('|') && !paragraph.startsWith('<!--'))
}

function lineAt(text, index) {
  return text.slice(0, index).split('\n').length
}

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 28 })
}

/** Returns a pseudo-random generator (mulberry32) of numbers from 0 to 1. The same seed produces the same numbers. */
function generator(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
