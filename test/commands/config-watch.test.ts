// Tests how changes of the configuration file are detected, even while the file is being written or a symbolic link is replaced.
import { expect, it, vi } from 'vitest'
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { pino } from 'pino'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { completeChange, lookAt, watchConfig } from '../../src/commands/config-watch.ts'

it('reports a change to the file once, after two consecutive checks have found it, but not while the file is still being written', () => {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, 'settle: 5s\n')
  const changeAt = completeChange(lookAt(file))
  const look = (): string | undefined => changeAt(lookAt(file))?.text
  expect([look(), look()]).toEqual([undefined, undefined])
  const lines = ['webhook:\n', '  token: abc\n', 'settle: 6s\n']
  truncateSync(file)
  for (const line of lines) {
    expect(look()).toBeUndefined()
    appendFileSync(file, line)
  }
  expect(look()).toBeUndefined()
  expect(look()).toBe(lines.join(''))
  expect([look(), look()]).toEqual([undefined, undefined])
})

it('reports a file that was touched or replaced by an identical one, because another file may have changed', () => {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, 'settle: 5s\n')
  const changeAt = completeChange(lookAt(file))
  const look = (): string | undefined => changeAt(lookAt(file))?.text
  utimesSync(file, 1, 1)
  expect([look(), look(), look()]).toEqual([undefined, 'settle: 5s\n', undefined])
  writeFileSync(`${file}.new`, 'settle: 5s\n')
  utimesSync(`${file}.new`, 1, 1)
  renameSync(`${file}.new`, file)
  expect([look(), look(), look()]).toEqual([undefined, 'settle: 5s\n', undefined])
})

it('reports a change made between reading the configuration and the first check', () => {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, 'settle: 5s\n')
  const changeAt = completeChange(lookAt(file))
  writeFileSync(file, 'settle: 6s\n')
  expect([changeAt(lookAt(file)), changeAt(lookAt(file))?.text]).toEqual([undefined, 'settle: 6s\n'])
})

it('detects that a symbolic link was replaced, that it is missing for a while, and that a file has taken its place', () => {
  const folder = temporaryFolder()
  const inFolder = (name: string): string => path.join(folder, name)
  const version = (name: string, text: string): void => {
    mkdirSync(inFolder(name))
    writeFileSync(path.join(inFolder(name), 'pipespan.yaml'), text)
    symlinkSync(name, inFolder('next'))
    renameSync(inFolder('next'), inFolder('..data'))
  }
  version('one', 'settle: 5s\n')
  symlinkSync('..data/pipespan.yaml', inFolder('pipespan.yaml'))
  const file = inFolder('pipespan.yaml')
  const changeAt = completeChange(lookAt(file))
  const look = () => changeAt(lookAt(file))
  version('two', 'settle: 6s\n')
  expect([look(), look()?.text]).toEqual([undefined, 'settle: 6s\n'])
  rmSync(inFolder('..data'))
  expect(look()).toBeUndefined()
  const gone = look()
  expect(gone?.text).toBeUndefined()
  expect(gone?.key).toContain('ENOENT')
  writeFileSync(inFolder('new'), 'settle: 7s\n')
  renameSync(inFolder('new'), file)
  expect([look(), look()?.text]).toEqual([undefined, 'settle: 7s\n'])
})

it('reloads a changed configuration file, and reports once that the file is missing', async () => {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, 'settle: 5s\n')
  const lines: string[] = []
  const reload = vi.fn()
  const log = pino({ base: null }, { write: line => lines.push(line) })
  const timer = watchConfig({ file, loaded: lookAt(file), log, everyMs: 20 }, reload)
  closeAfterTest({ close: () => timer.stop() })
  writeFileSync(file, 'settle: 6s\n')
  await expect.poll(() => reload.mock.calls).toEqual([['settle: 6s\n']])
  rmSync(file)
  await expect.poll(() => lines.join('')).toContain('the configuration file cannot be used')
  writeFileSync(file, 'settle: 7s\n')
  await expect.poll(() => reload.mock.calls.at(-1)).toEqual(['settle: 7s\n'])
  expect(lines).toHaveLength(1)
})
