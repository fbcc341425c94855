// Tests the commands and links in the documentation. Every command is executed by a test, unless a marker states what the tests lack to execute it.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { docBlocks, repository } from './doc-blocks.ts'
import { docFolder } from './doc-shell.ts'

const blocks = docBlocks()

describe('the commands in the documentation', () => {
  it.each(blocks.map(block => ({ ...block, where: `${block.page}:${block.line}` })))(
    'has a marker at $where that states how the command is tested',
    ({ marker }) => {
      expect(['run', 'walk', 'recipe', 'tested', 'outside']).toContain(marker?.kind)
      if (marker?.kind === 'tested')
        expect(existsSync(path.join(repository, marker.description.replace(/ \(.*$/, '')))).toBe(true)
      if (marker?.kind === 'outside') expect(marker.description).not.toBe('')
    },
  )

  const runnable = Map.groupBy(
    blocks.filter(({ marker }) => marker?.kind === 'run'),
    ({ page }) => page,
  )
  it.each([...runnable])('documents commands on %s that run as written', (_page, steps) => {
    using folder = docFolder()
    for (const { script, line } of steps) {
      const { status, stderr, stdout } = spawnSync('sh', ['-eu', '-c', script], {
        cwd: folder.path,
        env: folder.env,
        encoding: 'utf8',
      })
      expect({ line, status, output: status === 0 ? '' : stdout + stderr }).toEqual({ line, status: 0, output: '' })
    }
  })
})

describe('the links in the documentation', () => {
  const pages = [...filesOf('.', '.md'), ...filesOf('docs', '.md', true)]

  it.each(pages)('links only to existing files from %s', page => {
    const text = readFileSync(path.join(repository, page), 'utf8')
    const targets = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(([, target]) => target ?? '')
    const missing = targets.filter(target => !existsSync(path.join(repository, path.dirname(page), target)))
    expect(missing).toEqual([])
  })

  it('has a record for every decision that the documentation or the code mentions', () => {
    const files = [...pages.filter(page => !page.includes('decisions')), ...filesOf('src', '.ts', true)]
    const named = files.flatMap(file =>
      [...readFileSync(path.join(repository, file), 'utf8').matchAll(/\bdecision (\d+)/gi)].map(([, number = '']) =>
        number.padStart(4, '0'),
      ),
    )
    const records = filesOf('docs/decisions', '.md').map(file => path.basename(file).slice(0, 4))
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter(number => !records.includes(number))).toEqual([])
  })
})

it('lists every documentation page in the index', () => {
  const index = readFileSync(path.join(repository, 'docs/README.md'), 'utf8')
  const pages = readdirSync(path.join(repository, 'docs')).filter(name => name.endsWith('.md') && name !== 'README.md')
  expect(pages.length).toBeGreaterThan(10)
  expect(pages.filter(page => !index.includes(`](${page})`))).toEqual([])
})

describe('the migration page', () => {
  const read = (page: string): string => readFileSync(path.join(repository, page), 'utf8')
  const rows = [...read('docs/migration.md').matchAll(/^\|(.*?)\| (.*) \|$/gm)].map(([, , here = '']) => here)
  const names = rows.flatMap(here => [...here.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))

  it('mentions only existing attributes, metrics and settings on the migration page', () => {
    const known = ['docs/ATTRIBUTES.md', 'docs/METRICS.md', 'docs/EVENTS.md', 'config/REFERENCE.md']
      .map(read)
      .join('\n')
    const metrics = new Set(
      [...read('docs/METRICS.md').matchAll(/^\| `([\w.]+)` \|/gm)].map(([, name = '']) => underscored(name)),
    )
    const attributes = names.filter(name => /^(pipeline|job|cicd|vcs|platform)\.[\w.]+$/.test(name))
    const settings = names.flatMap(name => /^(?:PIPESPAN|OTEL|GITLAB)_[A-Z_]+/.exec(name)?.[0] ?? [])
    const exposed = names.flatMap(
      name => name.match(/\b(?:cicd_pipeline|job|pipeline)_[a-z_]*(?:duration|total|seconds|count)[a-z_]*/g) ?? [],
    )
    expect([attributes.length, settings.length, exposed.length].every(count => count > 5)).toBe(true)
    for (const name of [...attributes, ...settings]) expect(known).toContain(name)
    for (const name of exposed)
      expect([...metrics], name).toContain(name.replace(/_bucket$/, '').replace(/(?<=count)_total$/, ''))
  })
})

function filesOf(folder: string, ending: string, recursive = false): string[] {
  const names = readdirSync(path.join(repository, folder), { recursive, encoding: 'utf8' })
  return names.filter(name => name.endsWith(ending)).map(name => path.join(folder, name))
}

/** Returns a name as the Prometheus format spells it. */
function underscored(name: string): string {
  return name.replaceAll('.', '_')
}
