// A token kept in one key of a Kubernetes Secret; its journal and its lease are annotations of that Secret.
//
// Two rotations at once. The lease says who rotates and when it last said so. Every patch carries the version it was made
// for, so of two takers one gets 409. A lease found is watched, not compared with this machine's clock: if it changes or
// goes, its holder lives; if it stands still for a whole lease time, its holder is dead and it is taken over.
import { randomUUID, createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { elapsed, type Clock } from '../lib/clock.ts'
import { Secret } from '../lib/secret.ts'
import { parseJournal } from './journal.ts'
import { createSecretApi, type KubernetesOptions, type SecretApi, type SecretObject } from './kubernetes-secret.ts'
import { RotationBusy, RotationError } from './rotation-error.ts'
import type { LockedTarget, Target, TargetContent, Watching } from './target.ts'

export interface KubernetesTargetOptions extends KubernetesOptions {
  readonly clock: Clock
  /** A lease that stands still this long is dead, ms. More than the longest call to anything during a rotation. */
  readonly leaseMs?: number
}

export interface SecretKey {
  readonly namespace: string
  readonly secret: string
  readonly key: string
}

/** The kubelet renews mounted Secrets about once a minute, from a cache that may be as old again. */
const volumeLagMs = 120_000

/** Somebody else's patches of the same Secret, between our read and our patch, before we give up. */
const mostConflicts = 10

export function createKubernetesTarget(place: SecretKey, options: KubernetesTargetOptions): Target {
  const { key } = place
  const address = `kubernetes:${place.namespace}/${place.secret}/${key}`
  const { clock } = options
  const leaseMs = options.leaseMs ?? 60_000
  const names = annotationsFor(key)

  function contentOf(object: SecretObject): TargetContent {
    const value = Buffer.from(object.data[key] ?? '', 'base64')
      .toString('utf8')
      .trim()
    const journal = object.annotations[names.journal]
    return {
      value: value === '' ? undefined : new Secret(value),
      journal: journal === undefined ? undefined : parseJournal(journal, `${address}, annotation ${names.journal}`),
    }
  }

  async function peek(): Promise<TargetContent> {
    const api = createSecretApi(place, options)
    try {
      return contentOf(await api.get())
    } finally {
      await api.close()
    }
  }

  /** Watches a lease of somebody else; returns when it is dead. */
  async function outlast(api: SecretApi, lease: string): Promise<void> {
    const until = elapsed(clock) + leaseMs
    while (elapsed(clock) < until) {
      await clock.sleep(Math.min(1000, leaseMs / 10))
      if ((await api.get()).annotations[names.lease] !== lease) throw new RotationBusy(address, lease)
    }
  }

  async function acquire(api: SecretApi, holder: string, watching: Watching): Promise<SecretObject> {
    const found = await api.get()
    const lease = found.annotations[names.lease]
    if (lease !== undefined) {
      watching(lease)
      await outlast(api, lease)
    }
    const current = lease === undefined ? found : await api.get()
    if (current.annotations[names.lease] !== lease) throw new RotationBusy(address, 'it was faster')
    const taken = await api.patch({ annotations: { [names.lease]: leaseOf(holder, clock) } }, current.resourceVersion)
    if (taken !== undefined) return taken
    const winner = (await api.get()).annotations[names.lease]
    if (winner !== undefined && winner !== lease) throw new RotationBusy(address, winner)
    return await acquire(api, holder, watching)
  }

  async function lock(watching: Watching): Promise<LockedTarget> {
    const api = createSecretApi(place, options)
    try {
      const holder = `${hostname()} ${randomUUID()}`
      return lockedTarget(api, holder, await acquire(api, holder, watching))
    } catch (error) {
      await api.close()
      throw error
    }
  }

  function lockedTarget(api: SecretApi, holder: string, acquired: SecretObject): LockedTarget {
    let latest = acquired
    let renewedAt = elapsed(clock)

    async function refresh(): Promise<SecretObject> {
      latest = await api.get()
      if (latest.annotations[names.lease]?.startsWith(`${holder} `) !== true) {
        throw new RotationError(
          `The lease of ${address} was taken over while this rotation was suspended.`,
          'Nothing is lost: the other rotation finishes the work.',
        )
      }
      return latest
    }

    /** Every patch renews the lease; a patch by somebody else in between is no reason to stop, a lost lease is. */
    async function patch(data?: Record<string, string>, journal?: string): Promise<void> {
      for (let conflicts = 0; conflicts < mostConflicts; conflicts += 1) {
        const annotations = {
          [names.lease]: leaseOf(holder, clock),
          ...(journal === undefined ? {} : { [names.journal]: journal }),
        }
        const patched = await api.patch(
          { annotations, ...(data === undefined ? {} : { data }) },
          latest.resourceVersion,
        )
        if (patched !== undefined) {
          latest = patched
          renewedAt = elapsed(clock)
          return
        }
        await refresh()
      }
      throw new RotationError(
        `The Secret of ${address} keeps being changed by another writer.`,
        'Find out who changes it (kubectl get secret --show-managed-fields), and run again.',
      )
    }

    return {
      read: async () => contentOf(await refresh()),
      write: value => patch({ [key]: Buffer.from(value.reveal()).toString('base64') }),
      save: journal => patch(undefined, JSON.stringify(journal)),
      renew: async () => {
        if (elapsed(clock) - renewedAt >= leaseMs / 3) await patch()
      },
      release: async () => {
        try {
          // Somebody else's change in between is no reason to leave the lease behind: the next rotation would wait for it.
          for (let conflicts = 0; conflicts < mostConflicts; conflicts += 1) {
            const { resourceVersion } = await refresh()
            if ((await api.patch({ annotations: { [names.lease]: null } }, resourceVersion)) !== undefined) return
          }
        } finally {
          await api.close()
        }
      },
    }
  }

  return { address, leastGraceMs: volumeLagMs, peek, lock }
}

function leaseOf(holder: string, clock: Clock): string {
  return `${holder} ${new Date(clock.now()).toISOString()}`
}

/** One journal and one lease per key. A key may be longer than an annotation's name, hence the digest. */
function annotationsFor(key: string): { readonly journal: string; readonly lease: string } {
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 12)
  return { journal: `pipespan/rotation-${digest}`, lease: `pipespan/rotation-lease-${digest}` }
}
