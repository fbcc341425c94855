// A disk that does not take what was written, or does not give it back, on the shipped daemon: nothing that was accepted is lost.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { OtlpReceiver, patient } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { Daemon } from './daemon.ts'

/**
 * While there is the file `sign`, these calls of SQLite fail for files whose names have `part` and not `but`. SQLite calls the system by itself, so a library
 * in front of the system's has to fail.
 */
const failing = (sign: string, part: string, but: string): string => `
  #define _GNU_SOURCE
  #include <dlfcn.h>
  #include <errno.h>
  #include <stdio.h>
  #include <string.h>
  #include <unistd.h>
  static int fails(int descriptor) {
    char link[64], file[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, file, sizeof file - 1);
    file[length < 0 ? 0 : length] = 0;
    if (!strstr(file, "${part}") || strstr(file, "${but}") || access("${sign}", F_OK) != 0) return 0;
    FILE *noted = fopen("${sign}", "a");
    if (noted) { fputs("failed", noted); fclose(noted); }
    errno = EIO;
    return 1;
  }`

const syncs = `
  #define SYNC(name) int name(int descriptor) { \\
    int (*next)(int) = dlsym(RTLD_NEXT, #name); \\
    return fails(descriptor) ? -1 : next(descriptor); \\
  }
  SYNC(fsync)
  SYNC(fdatasync)
`
const reads = `
  #define READ(name, type) ssize_t name(int descriptor, void *bytes, size_t length, type at) { \\
    ssize_t (*next)(int, void *, size_t, type) = dlsym(RTLD_NEXT, #name); \\
    return fails(descriptor) ? -1 : next(descriptor, bytes, length, at); \\
  }
  READ(pread, off_t)
  READ(pread64, off64_t)
`

/** What is to be loaded before the daemon. */
function library(source: string): string {
  const file = path.join(temporaryFolder(), 'failing.so')
  const made = spawnSync('cc', ['-shared', '-fPIC', '-x', 'c', '-o', file, '-', '-ldl'], { input: source })
  expect(made.stderr.toString()).toBe('')
  return file
}

const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0

it.runIf(hasCompiler)(
  'loses nothing while the disk fails to sync the store, and continues when it succeeds',
  async () => {
    const sign = path.join(temporaryFolder(), 'fails')
    const LD_PRELOAD = library(failing(sign, '.db', '-deliveries/') + syncs)
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const env = { ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '0s', LD_PRELOAD }
    const daemon = await Daemon.start(env)
    writeFileSync(sign, '')
    const answer = await daemon.post(pipelineEvent({ id: 1, jobs: 1 }), { 'x-service-event': 'Pipeline Hook' })
    expect(answer.status).toBe(202)
    await expect.poll(() => readFileSync(sign, 'utf8')).toContain('failed')
    expect(receiver.spans).toEqual([])
    rmSync(sign)
    await receiver.until(spans => new Set(spans.map(({ spanId }) => spanId)).size === 2)
  },
)

it.runIf(hasCompiler)(
  'gives up no delivery when its file cannot be read for some seconds, and exports each once afterwards',
  async () => {
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const sign = path.join(temporaryFolder(), 'unreadable')
    // The file that the daemon begins first.
    const LD_PRELOAD = library(failing(sign, '-deliveries/00000001-', '-shm') + reads)
    const daemon = await Daemon.start({
      ...patient,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      PIPESPAN_SETTLE: '0s',
      LD_PRELOAD,
    })
    writeFileSync(sign, '')
    const pipelines = Array.from({ length: 60 }, (_, at) => at + 1)
    const post = async (id: number): Promise<number> => {
      const headers = { 'x-service-event': 'Pipeline Hook', 'idempotency-key': `delivery ${id}` }
      return (await daemon.post(pipelineEvent({ id }), headers)).status
    }
    for (const id of pipelines.slice(0, 30)) expect(await post(id)).toBe(202)
    // What a kill interrupts may be sent twice.
    await daemon.stop()
    await daemon.restart()
    await expect.poll(() => daemon.output).toMatch(/cannot be read are set aside/)
    for (const id of pipelines.slice(30)) expect(await post(id)).toBe(202)
    expect(readFileSync(sign, 'utf8')).toContain('failed')
    rmSync(sign)
    await daemon.stop()
    await daemon.restart()
    await receiver.until(spans => new Set(spans.map(({ traceId }) => traceId)).size === pipelines.length)
    // By its key, each is known.
    for (const id of pipelines) expect(await post(id)).toBe(200)
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    expect(receiver.spans.length).toBe(new Set(receiver.spans.map(({ spanId }) => spanId)).size)
  },
)
