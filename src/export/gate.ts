// Whether anything is taken at all: of one destination's credentials, or by one lane's endpoint (`lane-gate.ts` puts both together).
//
//                 401, 403 (after the token was read again)
//          ┌────────────────────────────────────────────────► UNAUTHORIZED ─┐
//          │                                                       ▲        │ a probe that is answered otherwise
//   OPEN ◄─┼───────────────────────────────────────────────────────┼────────┘ than with 401, 403 or a failure
//          │                                                       │ 401, 403
//          │    every single item of a lease is refused (400,      │
//          └──► 413, 422) and nothing was accepted since start ──► HELD ──► a probe that is accepted ──► OPEN
//
// OPEN: its lanes send. UNAUTHORIZED, HELD: of all its lanes one sends one small lease, the probe; then
// all pause, longer each time. A token that differs from the refused one is probed at once. Nothing becomes a dead letter
// while a gate is closed.
import { backoff, type BackoffOptions } from '../lib/backoff.ts'
import { sameSecret } from './sender.ts'
import { tick } from './order.ts'
import type { Bearer } from './destination.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Secret } from '../lib/secret.ts'

export type GateState = 'open' | 'unauthorized' | 'held'

export type Admission = { readonly go: 'all' } | { readonly go: 'probe' } | { readonly go: 'wait'; readonly ms: number }

export interface Gate {
  readonly state: GateState
  /** True once anything was accepted since start. */
  readonly hasAccepted: boolean
  /** When the next probe is due, while closed. */
  readonly probeAt: Millis | undefined
  /** Asked before every lease. Whoever is let in to probe must call `probed`. */
  admit(): Promise<Admission>
  /** The probe is over: `used` when it sent anything. */
  probed(used: boolean): void
  /** `began`: when the request did, by `tick`. */
  accepted(began: number): void
  /** The backend took the credentials, if not the content. */
  authorized(began: number): void
  unauthorized(sentence: string, token: Secret | undefined): void
  /** Everything was refused. Answers when the refused are to be tried again: others go into the next probe. */
  hold(sentence: string): Millis
}

export interface GateOptions {
  readonly destination: string
  readonly bearer?: Bearer | undefined
  /** Pauses between probes. */
  readonly pauses: BackoffOptions
  readonly clock: Clock
  readonly log: Log
  /** The gate opened: lanes may go on. */
  readonly onOpen: () => void
}

/** While it is closed lanes look again this often, ms: the token may have changed. */
const lookAgain = 500

export function createGate({ destination, bearer, pauses, clock, log, onOpen }: GateOptions): Gate {
  let state: GateState = 'open'
  let hasAccepted = false
  let since = 0
  let closedAt = 0
  let probes = 0
  let probeAt = 0
  let probing = false
  let refused: Secret | undefined
  let lookedAt = -Infinity

  function close(to: Exclude<GateState, 'open'>, sentence: string): void {
    if (state === to) return
    state = to
    since = elapsed(clock)
    closedAt = tick()
    probes = 1
    probeAt = since + backoff(probes, pauses)
    log.error({ destination, reason: sentence }, advice[to])
  }

  function open(): void {
    if (state === 'open') return
    log.info({ destination, after: elapsed(clock) - since }, 'the destination takes exports again')
    state = 'open'
    onOpen()
  }

  /** A probe is due at once when the token is another one than was refused. */
  async function lookForToken(): Promise<void> {
    if (bearer === undefined) return
    if (elapsed(clock) - lookedAt >= lookAgain) {
      lookedAt = elapsed(clock)
      await bearer.reload()
    }
    if (state === 'unauthorized' && !sameSecret(bearer.current(), refused)) probeAt = Math.min(probeAt, elapsed(clock))
  }

  return {
    get state() {
      return state
    },
    get hasAccepted() {
      return hasAccepted
    },
    get probeAt() {
      return state === 'open' ? undefined : probeAt
    },
    admit: async () => {
      if (state === 'unauthorized') await lookForToken()
      if (state === 'open') return { go: 'all' }
      if (probing) return { go: 'wait', ms: lookAgain }
      const wait = probeAt - elapsed(clock)
      if (wait > 0) return { go: 'wait', ms: Math.min(wait, lookAgain) }
      probing = true
      return { go: 'probe' }
    },
    probed: used => {
      probing = false
      if (state === 'open' || !used) return
      probes += 1
      probeAt = elapsed(clock) + backoff(probes, pauses)
    },
    accepted: began => {
      hasAccepted = true
      // An answer to a request from before the refusal tells nothing of the token now.
      if (state !== 'unauthorized' || began > closedAt) open()
    },
    authorized: began => {
      if (state === 'unauthorized' && began > closedAt) open()
    },
    unauthorized: (sentence, token) => {
      refused = token
      close('unauthorized', sentence)
    },
    hold: sentence => {
      close('held', sentence)
      return elapsed(clock) + 2 * backoff(probes + 1, pauses)
    },
  }
}

const advice = {
  unauthorized:
    'the destination refuses the credentials: its exports wait, nothing is dropped. ' +
    'Give it a valid token (a changed token file is used at once) or correct its OTLP headers.',
  held:
    'the destination refuses every export and has accepted none since start: its exports wait, nothing is dropped. ' +
    'Check that the endpoint is an OTLP/HTTP address of this signal and that the backend takes protobuf.',
} as const
