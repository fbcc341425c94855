// Sets up tests of token rotations: a stand-in for an observability instance, a folder for the token file, and the dependencies of a rotation.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import { Secret } from '../../../src/lib/secret.ts'
import { createIngestTokens } from '../../../src/features/tokens/client.ts'
import { createFileTarget } from '../../../src/features/tokens/file-target.ts'
import type { Progress } from '../../../src/features/tokens/logbook.ts'
import { createProver } from '../../../src/features/tokens/otlp-proof.ts'
import type { RotationOptions, RotationParts } from '../../../src/features/tokens/rotation-session.ts'
import type { RotationStore } from '../../../src/features/tokens/rotation-store.ts'
import type { Target } from '../../../src/features/tokens/target.ts'
import { startInstance, type ObservabilityInstance, type StandInOptions } from '../../support/observability-instance.ts'

/** Poll intervals and timeouts of a rotation, short enough for tests and long enough for a machine with two cores. */
export const quickTiming = { pollMs: 5, proofTimeoutMs: 60, creationMs: 40 }

export interface RotationWorld {
  readonly instance: ObservabilityInstance
  readonly folder: string
  /** The path of the target file. */
  readonly file: string
  parts(more?: { store?: RotationStore; clock?: Clock; progress?: Progress; target?: Target }): RotationParts
  /** Returns the target file's current content. */
  held(): Promise<string | undefined>
  /** Returns whether the endpoint would accept the token in the target file. */
  isHeldValid(): Promise<boolean>
  /** Returns all progress lines of all rotations, and the journal's text. */
  output(): Promise<string>
  close(): Promise<void>
}

export async function openWorld(options: StandInOptions = {}): Promise<RotationWorld> {
  const instance = await startInstance(options)
  const folder = await mkdtemp(path.join(tmpdir(), 'rotation-'))
  const file = path.join(folder, 'token')
  const lines: string[] = []
  const ours = partsFor(instance, file)
  const held = async () => await readFile(file, 'utf8').catch(() => undefined)
  return {
    instance,
    folder,
    file,
    held,
    parts: ({ progress, ...more } = {}) => ({
      ...ours,
      progress: async (point, text) => {
        lines.push(text)
        await progress?.(point, text)
      },
      ...more,
    }),
    isHeldValid: async () => {
      const value = await held()
      return instance.tokens.some(token => token.value === value)
    },
    output: async () => `${lines.join('\n')}\n${await readFile(`${file}.rotation.json`, 'utf8').catch(() => '')}`,
    close: async () => {
      await instance.close()
      await rm(folder, { recursive: true })
    },
  }
}

/** Returns the dependencies of a rotation. The function needs only the stand-in's URLs and API key, so that other processes can call it too. */
export function partsFor(
  { url, otlpUrl, apiKey }: Pick<ObservabilityInstance, 'url' | 'otlpUrl' | 'apiKey'>,
  file: string,
): RotationParts {
  const timeoutMs = 60_000
  return {
    instance: createIngestTokens({ url, apiKey: () => new Secret(apiKey), timeoutMs }),
    prove: createProver({ url: otlpUrl, timeoutMs }),
    clock: systemClock,
    target: createFileTarget(file),
    timing: quickTiming,
    progress: () => undefined,
  }
}

/** All points of a rotation's progress at which it may be interrupted, in order. */
export const allPoints = [
  ...(['creating', 'answered', 'created', 'tried', 'writing', 'replaced', 'written'] as const),
  ...(['proved', 'waiting', 'seen', 'revoking', 'revoked', 'over'] as const),
]

export const usual: RotationOptions = { name: 'pipespan', graceMs: 0, adopt: false, force: false }
