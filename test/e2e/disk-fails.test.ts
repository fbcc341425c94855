// Tests the shipped daemon on a disk that fails to sync: no accepted data is lost.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { OtlpReceiver, patient } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { Daemon } from './daemon.ts'

/**
 * Returns C code that decides whether a sync fails: it does for every file whose name contains `part`, while the file `trigger` exists. SQLite does
 * not sync through Node.js, so the failing functions are in a library that is loaded before the C library.
 */
const failing = (trigger: string, part: string): string => `
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
    if (!strstr(file, "${part}") || access("${trigger}", F_OK) != 0) return 0;
    FILE *noted = fopen("${trigger}", "a");
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
/** Compiles a library to preload into the daemon. */
function library(source: string): string {
  const file = path.join(temporaryFolder(), 'failing.so')
  const made = spawnSync('cc', ['-shared', '-fPIC', '-x', 'c', '-o', file, '-', '-ldl'], { input: source })
  expect(made.stderr.toString()).toBe('')
  return file
}

const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0

it.runIf(hasCompiler)(
  'rejects deliveries while the disk fails to sync the store, and accepts them when they are resent',
  async () => {
    const trigger = path.join(temporaryFolder(), 'fails')
    const LD_PRELOAD = library(failing(trigger, '.db') + syncs)
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const env = { ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_SETTLE: '0s', LD_PRELOAD }
    const daemon = await Daemon.start(env)
    const post = async (): Promise<Response> =>
      daemon.post(pipelineEvent({ id: 1, jobs: 1 }), { 'x-service-event': 'Pipeline Hook', 'idempotency-key': 'one' })
    writeFileSync(trigger, '')
    const refused = await post()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30'])
    expect(readFileSync(trigger, 'utf8')).toContain('failed')
    expect(receiver.spans).toEqual([])
    rmSync(trigger)
    await expect.poll(async () => (await post()).status).toBe(202)
    expect((await post()).status).toBe(200)
    await receiver.until(spans => new Set(spans.map(({ spanId }) => spanId)).size === 2)
  },
)
