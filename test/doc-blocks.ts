// Finds the shell commands in the documentation. Every block has a marker that states how the block is tested.
//
//   <!-- run -->              executed by test/docs-commands.test.ts, the blocks of a page one after another in one folder
//   <!-- walk: NAME -->       executed by test/docs-walk.test.ts
//   <!-- recipe: NAME -->      tried by test/docs-recipes.test.ts
//   <!-- tested: FILE -->     executed by that test or script
//   <!-- outside: WHAT -->    needs something that no test here has
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

export const repository = path.join(import.meta.dirname, '..')

export interface DocBlock {
  readonly page: string
  readonly line: number
  readonly script: string
  readonly marker: { readonly kind: string; readonly description: string } | undefined
}

const pages = ['*.md', 'docs/**/*.md', 'deploy/**/*.md']
const shells = new Set(['sh', 'bash', 'shell', 'console'])

export function docBlocks(): DocBlock[] {
  return pages.flatMap(pattern => globSync(pattern, { cwd: repository })).flatMap(blocksOf)
}

function blocksOf(page: string): DocBlock[] {
  const lines = readFileSync(path.join(repository, page), 'utf8').split('\n')
  const blocks: DocBlock[] = []
  for (let at = 0; at < lines.length; at++) {
    const [, indent = '', language = ''] = /^(\s*)```(\w*)/.exec(lines[at] ?? '') ?? []
    if (!/^\s*```/.test(lines[at] ?? '')) continue
    const end = lines.findIndex((line, index) => index > at && line.trim() === '```')
    if (shells.has(language)) {
      const script = lines.slice(at + 1, end).map(line => line.slice(indent.length))
      const [, kind, description = ''] = /^\s*<!-- (\w+)(?:: (.*?))? -->$/.exec(lines[at - 1] ?? '') ?? []
      const marker = kind === undefined ? undefined : { kind, description }
      blocks.push({ page, line: at + 1, script: script.join('\n'), marker })
    }
    at = end
  }
  return blocks
}
