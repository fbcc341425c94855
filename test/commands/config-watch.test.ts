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
import { completeChange, checkFile, watchConfig } from '../../src/commands/config-watch.ts'

it('reports a change to the file once, after two consecutive checks have found it, but not while the file is still being written', () => {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, 'settle: 5s\n')
  const changeAt = completeChange(checkFile(file))
  const check = (): string | undefined => changeAt(checkFile(file))?.text
  expect([check(), check()]).toEqual([undefined, undefined])
  const lines = ['webhook:\n', '  token: abc\n', 'settle: 6s\n']
  truncateSync(file)
  for (const line of lines) {
    expect(check()).toBeUndefined()
    appendFileSync(file, line)
  }
  expect(check()).toBeUndefined()
  expect(check()).toBe(lines.join(''))
  expect([check(), check()]).toEqual([undefined, undefined])
})

it('reports a file that was touched or replaced by an identical one, because another file may have changed', () => {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, 'settle: 5s\n')
  const changeAt = completeChange(checkFile(file))
  const check = (): string | undefined => changeAt(checkFile(file))?.text
  utimesSync(file, 1, 1)
  expect([check(), check(), check()]).toEqual([undefined, 'settle: 5s\n', undefined])
  writeFileSync(`${file}.new`, 'settle: 5s\n')
  utimesSync(`${file}.new`, 1, 1)
  renameSync(`${file}.new`, file)
  expect([check(), check(), check()]).toEqual([undefined, 'settle: 5s\n', undefined])
})

it('reports a change made between reading the configuration and the first check', () => {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, 'settle: 5s\n')
  const changeAt = completeChange(checkFile(file))
  writeFileSync(file, 'settle: 6s\n')
  expect([changeAt(checkFile(file)), changeAt(checkFile(file))?.text]).toEqual([undefined, 'settle: 6s\n'])
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
  const changeAt = completeChange(checkFile(file))
  const check = () => changeAt(checkFile(file))
  version('two', 'settle: 6s\n')
  expect([check(), check()?.text]).toEqual([undefined, 'settle: 6s\n'])
  rmSync(inFolder('..data'))
  expect(check()).toBeUndefined()
  const gone = check()
  expect(gone?.text).toBeUndefined()
  expect(gone?.key).toContain('ENOENT')
  writeFileSync(inFolder('new'), 'settle: 7s\n')
  renameSync(inFolder('new'), file)
  expect([check(), check()?.text]).toEqual([undefined, 'settle: 7s\n'])
})

it('reloads a changed configuration file, and reports once that the file is missing', async () => {
  const file = path.join(temporaryFolder(), 'pipespan.yaml')
  writeFileSync(file, 'settle: 5s\n')
  const lines: string[] = []
  const reload = vi.fn()
  const log = pino({ base: null }, { write: line => lines.push(line) })
  const timer = watchConfig({ file, loaded: checkFile(file), log, everyMs: 20 }, reload)
  closeAfterTest({ close: () => timer.stop() })
  writeFileSync(file, 'settle: 6s\n')
  await expect.poll(() => reload.mock.calls).toEqual([['settle: 6s\n']])
  rmSync(file)
  await expect.poll(() => lines.join('')).toContain('the configuration file cannot be used')
  writeFileSync(file, 'settle: 7s\n')
  await expect.poll(() => reload.mock.calls.at(-1)).toEqual(['settle: 7s\n'])
  expect(lines).toHaveLength(1)
})
