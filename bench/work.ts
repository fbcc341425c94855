// Processes one pipeline through all stages within this process. The benchmark questions about mapping and encoding measure this work.
import { encodeTraces } from '../src/core/telemetry/encode.ts'
import { snapshotAttempt } from '../src/model/snapshot.ts'
import { observedRun } from '../src/model/run.ts'
import { parseDelivery } from '../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../src/daemon/profile.ts'
import { telemetrySettings } from '../src/core/telemetry/settings.ts'
import type { Chunk } from '../src/model/chunk.ts'

const settings = telemetrySettings({ profiles })
const parseOptions = { profile: profiles.generic, traceparent: false }

/** The chunks that would be sent for the webhook of a finished pipeline. */
export async function chunksOf(body: Uint8Array): Promise<readonly Chunk[]> {
  const parsed = parseDelivery({ event: 'Pipeline Hook', instance: 'https://git.example.com', body }, parseOptions)
  if (parsed.outcome !== 'observation') throw new Error(`the benchmark's webhook is ${parsed.outcome}`)
  const run = observedRun(parsed.observation)
  const trace = { scheme: 'instance', profile: 'generic', rootPipelineId: run.key.pipelineId } as const
  return snapshotAttempt(run, [...run.jobs.values()], trace, false, 0, { chunkSize: 500 }).chunks
}

export function encoded(chunks: readonly Chunk[]): number {
  return chunks.reduce((bytes, chunk) => bytes + encodeTraces([chunk], settings).length, 0)
}

/** Returns the duration of `work`, ms. */
export function timed(work: () => void): number {
  const began = performance.now()
  work()
  return performance.now() - began
}
