// Tests how the place where a job ran is read from the beginning of its log, as written by the runner's executors.
import { describe, expect, it } from 'vitest'
import { createReadLog } from '../../../src/platform/job-log/read-log.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { jobStart, marker, stamp } from './read-log.ts'
import type { JobSnapshot } from '../../../src/model/chunk.ts'
import type { RanOn } from '../../../src/model/inside.ts'

const bold = (text: string): string => `\u001b[0K\u001b[36;1m${text}\u001b[0;m`
const job = {
  ...{ id: 1, kind: 'job', status: 'success', retried: false },
  ...{ start: jobStart, end: jobStart + 60_000 },
} as JobSnapshot

/**
 * Returns the log of a job: the lines printed by the runner while it prepares the executor and the environment, and the lines printed by the job's
 * script.
 */
function logOf(executor: string, prepare: readonly string[], script: readonly string[] = []): string {
  return [
    bold('Running with gitlab-runner 18.7.0'),
    `${marker('start', 'prepare_executor', 0)}${bold(`Preparing the "${executor}" executor`)}`,
    `${marker('end', 'prepare_executor', 2)}${marker('start', 'prepare_script', 2)}${bold('Preparing environment')}`,
    ...prepare,
    `${marker('end', 'prepare_script', 3)}${marker('start', 'get_sources', 3)}${bold('Getting source from Git repository')}`,
    ...script,
    marker('end', 'get_sources', 4),
    'Job succeeded',
    '',
  ].join('\n')
}

async function ranOn(log: string): Promise<RanOn | undefined> {
  const client = {
    jobLog: async (_project: number, _job: number, { onWindow }: { onWindow: (window: Uint8Array) => void }) => {
      onWindow(Buffer.from(log))
      return { bytes: log.length, isWhole: true }
    },
  }
  const read = createReadLog(client, { redactText: createTextRedaction([]), readMax: 2 ** 20, linesMax: 2 ** 20 })
  return (await read(3, job, { sections: true, lines: false }, { priority: 'inside' })).ranOn
}

const container = 'Running on runner-abc-project-1-concurrent-0 via ip-10-0-0-1...'

describe('the place where a job ran', () => {
  it.each([
    ['docker', container, 'ip-10-0-0-1'],
    ['docker-windows', container, 'ip-10-0-0-1'],
    ['shell', 'Running on build-7 via build-7...', 'build-7'],
    ['ssh', 'Running on target.example.com via manager-1...', 'target.example.com'],
    ['instance', 'Running on i-0123 via manager-1...', 'i-0123'],
    ['shell', 'Running on build-7...', 'build-7'],
    ['shell', 'Running on WIN-7 via "WIN-7"...', 'WIN-7'],
  ])("reads the job's machine from the log of the executor %s: %s", async (executor, line, host) => {
    expect(await ranOn(logOf(executor, [line]))).toEqual({ host })
  })

  it.each(['docker+machine', 'docker-autoscaler'])(
    'reads no machine from the log of the executor %s, which does not name one',
    async executor => {
      expect(await ranOn(logOf(executor, [container]))).toBeUndefined()
    },
  )

  it("reads the job's pod, and never the runner's machine, which is another pod", async () => {
    const name = 'runner-abc-project-2-concurrent-0nrnln'
    const running = `Running on ${name} via gitlab-runner-54f59f4d44-6gmcq...`
    const waiting = `Waiting for pod ci/${name} to be running, status is Pending`
    expect(await ranOn(logOf('kubernetes', [waiting, waiting, running]))).toEqual({ pod: name })
    expect(await ranOn(logOf('kubernetes', [running]))).toEqual({ pod: name })
  })

  it("reads the pod's full name, and ignores a hostname that may be truncated", async () => {
    const name = `runner-${'x'.repeat(70)}`
    const running = `Running on ${name.slice(0, 63)} via manager...`
    const waiting = `Waiting for pod ci/${name} to be running, status is Pending`
    expect(await ranOn(logOf('kubernetes', [waiting, running]))).toEqual({ pod: name })
    expect(await ranOn(logOf('kubernetes', [running]))).toBeUndefined()
  })

  it("reads the job's Kubernetes node only if the log contains an event of the pod that names it", async () => {
    const events = [
      'Subscribing to Kubernetes Pod events...',
      'Type     Reason      Message',
      'Warning   FailedScheduling   0/3 nodes are available: 3 Insufficient cpu.',
      'Normal   Scheduled   Successfully assigned ci/runner-1 to gke-pool-7f',
      'Waiting for pod ci/runner-1 to be running, status is Pending',
    ]
    const running = 'Running on runner-1 via manager...'
    expect(await ranOn(logOf('kubernetes', [...events, running]))).toEqual({ pod: 'runner-1', node: 'gke-pool-7f' })
    const other = 'Waiting for pod ci/runner-2 to be running, status is Pending'
    expect(await ranOn(logOf('kubernetes', [...events, other]))).toEqual({ pod: 'runner-2' })
  })

  it("also reads the job's machine from log lines with timestamps", async () => {
    const log = [`Using Docker executor with image alpine ...`, container].map((text, at) => `${stamp(at)}${text}\n`)
    expect(await ranOn(log.join(''))).toEqual({ host: 'ip-10-0-0-1' })
  })

  it("never reads the job's machine from the output of a script", async () => {
    const printed = [container, 'Waiting for pod ci/mine to be running, status is Pending']
    expect(await ranOn(logOf('docker', [], printed))).toBeUndefined()
    expect(await ranOn(logOf('docker', [container], ['Running on a via b...']))).toEqual({ host: 'ip-10-0-0-1' })
  })

  it("redacts the name of the job's machine and then truncates it to 253 characters", async () => {
    const token = `glpat-${'Ab3'.repeat(8)}`
    expect((await ranOn(logOf('shell', [`Running on ${token}...`])))?.host).toBe('[REDACTED]')
    expect((await ranOn(logOf('shell', [`Running on ${'h'.repeat(400)}...`])))?.host).toBe('h'.repeat(253))
  })
})
