// How many connections the listeners may hold, by how many files may be open.
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { connectionLimits } from '../../../src/daemon/listeners/connection-limits.ts'

test.each([
  [undefined, { public: 2_048, admin: 2_048 }],
  [1_048_576, { public: 2_048, admin: 2_048 }],
  [4_096, { public: 2_048, admin: 960 }],
  [1_024, { public: 576, admin: 192 }],
  [256, { public: 96, admin: 32 }],
  [8, { public: 3, admin: 1 }],
])('the limits with %j open files are %j', (openFiles, limits) => {
  expect(connectionLimits(openFiles)).toEqual(limits)
})

test.each([
  [512, { public: 2_048, admin: 2_048 }],
  [256, { public: 409, admin: 409 }],
  [128, { public: 128, admin: 128 }],
])('the limits within %i MiB are %j', (mebibytes, limits) => {
  expect(connectionLimits(undefined, mebibytes * 1024 * 1024)).toEqual(limits)
})

test('the scarcer of files and memory decides', () => {
  expect(connectionLimits(1_024, 2 ** 30)).toEqual({ public: 576, admin: 192 })
  expect(connectionLimits(4_096, 2 ** 28)).toEqual({ public: 409, admin: 409 })
})

test.skipIf(process.platform !== 'linux')('reads the limit of the process', () => {
  const file = path.join(import.meta.dirname, '..', '..', '..', 'src', 'daemon', 'listeners', 'connection-limits.ts')
  const script = `const { openFilesLimit } = await import(${JSON.stringify(file)}); console.log(openFilesLimit())`
  const args = ['-c', 'ulimit -n 333; exec "$0" "$@"', process.execPath, '--input-type=module', '-e', script]
  expect(spawnSync('/bin/sh', args, { encoding: 'utf8' }).stdout.trim()).toBe('333')
})
