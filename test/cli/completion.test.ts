// Completion as real shells do it, with the script that the command prints: bash always, zsh and fish where they are installed.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../e2e/run-command.ts'
import type { Shell } from '../../src/commands/completion.ts'

async function scriptFor(shell: Shell): Promise<string> {
  const { code, stdout } = await runCommand(['completion', shell])
  expect(code).toBe(0)
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'pipespan-completion-')), `script.${shell}`)
  writeFileSync(file, stdout)
  return file
}

/**
 * Answers what the shell offers behind these words; the last one is being written. In bash and zsh the functions that only work while a
 * person presses Tab say what they are given.
 */
const offer: Record<Shell, (file: string, words: readonly string[]) => string[]> = {
  bash: (file, words) =>
    run(file, 'bash', [
      '--norc',
      '-c',
      `compopt() { compgen -f; }; source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
       _pipespan; printf "%s\\n" "\${COMPREPLY[@]}"`,
      file,
      'pipespan',
      ...words,
    ]),
  zsh: (file, words) =>
    run(file, 'zsh', [
      '-f',
      '-c',
      `compdef() { }; _describe() { print -l -- \${(P)2%%:*} }; _files() { ls }
       source "$0"; words=("$@"); CURRENT=$#; _pipespan`,
      file,
      'pipespan',
      ...words,
    ]).filter(word => word.startsWith(words.at(-1) ?? '')),
  fish: (file, words) =>
    run(file, 'fish', [
      '--no-config',
      '-c',
      `source $argv[1]; complete -C "$argv[2]"`,
      file,
      ['pipespan', ...words].join(' '),
    ]),
}

/** In the script's own folder, which holds no other file. */
function run(script: string, program: string, args: readonly string[]): string[] {
  const env = { PATH: process.env.PATH, HOME: tmpdir() }
  const said = execFileSync(program, args, { encoding: 'utf8', env, cwd: path.dirname(script) })
  return said
    .split('\n')
    .map(line => line.split('\t')[0] ?? '')
    .filter(word => word !== '')
}

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    process.stderr.write(`${program} is not installed: its completion is not tried.\n`)
    return false
  }
}

describe.each((['bash', 'zsh', 'fish'] as const).map(shell => ({ shell, skip: !isInstalled(shell) })))(
  'in $shell',
  ({ shell, skip }) => {
    it.skipIf(skip)('completes commands, subcommands, options and choices', async () => {
      const file = await scriptFor(shell)
      const offered = (...words: string[]): string[] => offer[shell](file, words).toSorted()
      expect(offered('in')).toEqual(['inbox'])
      expect(offered('inbox', '')).toEqual(['list', 'retry', 'show'])
      expect(offered('inbox', 'list', '--j')).toEqual(['--json'])
      expect(offered('--config', 'some.yaml', 'dead-letters', 'dr')).toEqual(['drop'])
      expect(offered('traceparent', '--ids', '')).toEqual(['instance', 'platform'])
      expect(offered('enforcement', 'o')).toEqual(['off', 'on'])
      expect(offered('serve', '')).toEqual([])
    })

    it.skipIf(skip)('completes file names only for options that take a file', async () => {
      const file = await scriptFor(shell)
      const offersFiles = (...words: string[]): boolean => offer[shell](file, words).includes(path.basename(file))
      expect(offersFiles('inbox', '')).toBe(false)
      expect(offersFiles('map', 'scr')).toBe(true)
      expect(offersFiles('--config', 'scr')).toBe(true)
    })
  },
)
