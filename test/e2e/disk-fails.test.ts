// A disk that does not take what was written, or does not give it back, on the shipped daemon: nothing that was accepted is lost.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { OtlpReceiver, patient } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { Daemon, temporaryFolder } from './daemon.ts'

/** While there is this file, SQLite cannot sync the store. SQLite calls the system by itself, so a library in front of the system's has to fail. */
const failing = (sign: string): string => `
  #define _GNU_SOURCE
  #include <dlfcn.h>
  #include <errno.h>
  #include <stdio.h>
  #include <string.h>
  #include <unistd.h>
  static int sync_or_fail(const char *name, int descriptor) {
    char link[64], file[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, file, sizeof file - 1);
    file[length < 0 ? 0 : length] = 0;
    if (strstr(file, ".db") && !strstr(file, "-deliveries/") && access("${sign}", F_OK) == 0) {
      FILE *noted = fopen("${sign}", "a");
      if (noted) { fputs("failed", noted); fclose(noted); }
      errno = EIO;
      return -1;
    }
    int (*sync)(int) = dlsym(RTLD_NEXT, name);
    return sync(descriptor);
  }
  int fsync(int descriptor) { return sync_or_fail("fsync", descriptor); }
  int fdatasync(int descriptor) { return sync_or_fail("fdatasync", descriptor); }`

const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0

it.runIf(hasCompiler)(
  'loses nothing when the disk does not sync the store for a while, and goes on when it does',
  async () => {
    const folder = temporaryFolder()
    const sign = path.join(folder, 'fails')
    const library = path.join(folder, 'failing.so')
    const made = spawnSync('cc', ['-shared', '-fPIC', '-x', 'c', '-o', library, '-', '-ldl'], { input: failing(sign) })
    expect(made.stderr.toString()).toBe('')
    const receiver = await OtlpReceiver.start()
    onTestFinished(async () => receiver.close())
    const env = { ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '0s', LD_PRELOAD: library }
    const daemon = await Daemon.start(env)
    writeFileSync(sign, '')
    const answer = await daemon.post(pipelineEvent({ id: 1, jobs: 1 }), { 'x-service-event': 'Pipeline Hook' })
    expect(answer.status).toBe(202)
    await expect.poll(() => readFileSync(sign, 'utf8'), { timeout: 20_000 }).toContain('failed')
    expect(receiver.spans).toEqual([])
    rmSync(sign)
    await receiver.until(spans => new Set(spans.map(({ spanId }) => spanId)).size === 2)
  },
)

/** While there is this file, nothing can be read of the deliveries beside the store. */
const unreadable = (sign: string): string => `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const { readSync } = fs
  fs.readSync = (descriptor, ...others) => {
    if (fs.existsSync(${JSON.stringify(sign)}) && fs.readlinkSync('/proc/self/fd/' + descriptor).includes('-deliveries/'))
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
    return readSync(descriptor, ...others)
  }
  syncBuiltinESMExports()`

it('gives up no delivery because it could not be read for some seconds, and exports each once when it can', async () => {
  const receiver = await OtlpReceiver.start()
  onTestFinished(async () => receiver.close())
  const env = { ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '0s' }
  const sign = path.join(temporaryFolder(), 'unreadable')
  writeFileSync(sign, '')
  const daemon = await Daemon.start(env, ['--import', `data:text/javascript,${encodeURIComponent(unreadable(sign))}`])
  const pipelines = Array.from({ length: 60 }, (_, at) => at + 1)
  const post = async (id: number): Promise<number> => {
    const headers = { 'x-service-event': 'Pipeline Hook', 'idempotency-key': `delivery ${id}` }
    return (await daemon.post(pipelineEvent({ id }), headers)).status
  }
  for (const id of pipelines.slice(0, 30)) expect(await post(id)).toBe(202)
  await daemon.kill()
  await daemon.restart()
  const saidSetAside = /cannot be read.*are skipped/
  await expect.poll(() => daemon.output, { timeout: 20_000 }).toMatch(saidSetAside)
  for (const id of pipelines.slice(30)) expect(await post(id)).toBe(202)
  rmSync(sign)
  await daemon.kill()
  await daemon.restart()
  await receiver.until(spans => new Set(spans.map(({ traceId }) => traceId)).size === pipelines.length)
  // By its key, each is known.
  for (const id of pipelines) expect(await post(id)).toBe(200)
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })
  expect(receiver.spans.length).toBe(new Set(receiver.spans.map(({ spanId }) => spanId)).size)
})
