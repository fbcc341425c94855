// A rotation target that is a key of a Kubernetes Secret. Its journal and its lease are annotations of that Secret.
//
// 1. The lease contains its holder and the time of its last renewal. Every patch renews it.
// 2. Every patch contains the version of the Secret that it applies to. If two processes try to take the lease at the same time, one of them gets a
//    409.
// 3. A process that finds an existing lease watches it for changes. It does not compare the lease's timestamp with the local clock, because clocks
//    differ. If the lease changes, its holder is alive. If it does not change for a whole lease duration, its holder is dead, and this process takes
//    the lease over.
import { randomUUID, createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { elapsed, type Clock } from '../../lib/clock.ts'
import { Secret } from '../../lib/secret.ts'
import { parseJournal, RotationError } from './journal.ts'
import { createSecretApi, type KubernetesOptions, type SecretApi, type SecretObject } from './kubernetes-secret.ts'
import { RotationBusy, type LockedTarget, type Target, type TargetContent, type Watching } from './target.ts'

export interface KubernetesTargetOptions extends KubernetesOptions {
  readonly clock: Clock
  /**
   * The lease duration, ms: a holder that has not renewed its lease for this long is considered dead. It must be longer than any single request of a
   * rotation.
   */
  readonly leaseMs?: number
}

export interface SecretKey {
  readonly namespace: string
  readonly secret: string
  readonly key: string
}

/**
 * The maximum time until all pods see a new value, ms. The kubelet syncs mounted Secrets about once a minute, from a cache that may be another minute
 * old.
 */
const maxVolumeDelayMs = 120_000

/**
 * The maximum number of conflicts before a patch is abandoned. A conflict occurs when another writer patches the Secret between our read and our
 * patch.
 */
const maxConflicts = 10

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

  /** Watches another holder's lease. Returns once the holder is known to be dead; throws RotationBusy if it is alive. */
  async function waitForDeath(api: SecretApi, lease: string): Promise<void> {
    const until = elapsed(clock) + leaseMs
    while (elapsed(clock) < until) {
      await clock.sleep(Math.min(1000, leaseMs / 10))
      if ((await api.get()).annotations[names.lease] !== lease) throw new RotationBusy(address, lease)
    }
  }

  async function acquire(api: SecretApi, holder: string, watching: Watching): Promise<SecretObject> {
    const first = await api.get()
    const lease = first.annotations[names.lease]
    if (lease !== undefined) {
      watching(lease)
      await waitForDeath(api, lease)
    }
    const current = lease === undefined ? first : await api.get()
    if (current.annotations[names.lease] !== lease) throw new RotationBusy(address, 'it was faster')
    const patched = await api.patch({ annotations: { [names.lease]: leaseOf(holder, clock) } }, current.resourceVersion)
    if (patched !== undefined) return patched
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

    /** Patches the Secret and renews the lease. On a conflict with another writer it tries again, unless the lease is lost. */
    async function patch(data?: Record<string, string>, journal?: string): Promise<void> {
      for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
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
        `Another writer keeps changing the Secret of ${address}.`,
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
          // Removing the lease is retried after a conflict, because the next rotation would have to wait for a lease left behind.
          for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
            const { resourceVersion } = await refresh()
            if ((await api.patch({ annotations: { [names.lease]: null } }, resourceVersion)) !== undefined) return
          }
        } finally {
          await api.close()
        }
      },
    }
  }

  return { address, minGraceMs: maxVolumeDelayMs, peek, lock }
}

function leaseOf(holder: string, clock: Clock): string {
  return `${holder} ${new Date(clock.now()).toISOString()}`
}

/** Returns the annotation names for a key. They contain a digest of the key, because a key may exceed the maximum length of an annotation name. */
function annotationsFor(key: string): { readonly journal: string; readonly lease: string } {
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 12)
  return { journal: `pipespan/rotation-${digest}`, lease: `pipespan/rotation-lease-${digest}` }
}
