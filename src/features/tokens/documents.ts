// The stored state of ingest tokens: which tokens the daemons use, and how far rotations have progressed. Token values are never stored.
import { z } from 'zod'
import { documentKind } from '../../core/store/ports/repository.ts'

/** The fingerprints (`fingerprintOf`) of the tokens that a running daemon uses. */
const daemonReport = z.object({
  /** The name of the daemon: its host, its process id and a random part. */
  daemon: z.string(),
  fingerprints: z.array(z.string()),
  /** The time of the report, by the store's clock. */
  at: z.number(),
})
export type DaemonReport = z.infer<typeof daemonReport>

const heldToken = z.object({
  id: z.string(),
  /** The fingerprint of the token. Undefined for adopted tokens, because Pipespan never saw their values. */
  fingerprint: z.string().optional(),
  /** When the token was created or adopted, Unix ms. */
  since: z.number(),
})
export type HeldToken = z.infer<typeof heldToken>

/** The steps of a rotation, in order. A step whose name ends in -ing is written to the journal before it is done, any other step afterwards. */
export const rotationSteps = [
  'creating',
  'created',
  'writing',
  'written',
  'proved',
  'waiting',
  'seen',
  'revoking',
] as const
export type RotationStep = (typeof rotationSteps)[number]

const rotationUnderWay = z.object({
  id: z.string(),
  name: z.string(),
  startedAt: z.number(),
  step: z.enum(rotationSteps),
  /** The ids of all tokens that existed before the new one was created. */
  before: z.array(z.string()),
  /** True if there are other tokens with this name that, as far as is known, were never in this target. */
  shared: z.boolean(),
  /** The new token. Set from the step `created` on. */
  token: heldToken.required({ fingerprint: true }).optional(),
  /** When the new token was written to the target, Unix ms. */
  writtenAt: z.number().optional(),
  history: z.array(z.object({ step: z.string(), at: z.number() })),
})
export type RotationUnderWay = z.infer<typeof rotationUnderWay>

/** The journal is a file next to the target, with a copy in the store. */
export const rotationJournal = z.object({
  version: z.literal(1),
  /** A number that increases with every change of the journal, so that the newer of two copies has the higher revision. */
  revision: z.number(),
  /** The target as it was passed to `--target`. */
  target: z.string(),
  /** The observability instance that the token ids belong to. */
  instance: z.string(),
  /** The token that is in the target, if its id is known. */
  current: heldToken.optional(),
  /** Earlier tokens, which are revoked when all daemons use the newest one. */
  older: z.array(heldToken),
  /** The rotation that is in progress or was interrupted. */
  rotation: rotationUnderWay.optional(),
})
export type RotationJournal = z.infer<typeof rotationJournal>

/** The history of rotations, for people. It is rewritten with each step. */
const rotationRecord = z.object({
  id: z.string(),
  target: z.string(),
  name: z.string(),
  startedAt: z.number(),
  updatedAt: z.number(),
  /** The last step in the journal, or how the rotation ended. */
  state: z.string(),
  tokenId: z.string().optional(),
  fingerprint: z.string().optional(),
})
export type RotationRecord = z.infer<typeof rotationRecord>

/** The reports of daemons about their tokens. Each daemon writes one document. */
export const daemonReports = documentKind('daemon', daemonReport, ['daemon'])
/** The stored copies of the journals, one for each target. They are written by `pipespan tokens rotate`, like the records of rotations. */
export const journals = documentKind('rotation/journal', rotationJournal, ['target'])
export const rotations = documentKind('rotation/record', rotationRecord, ['id'])
