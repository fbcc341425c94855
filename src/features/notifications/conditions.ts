// The conditions that every daemon can notify people about, with their titles, sentences and details. Features report further conditions. Pure.
import { branchClassOf } from '../../model/pipeline.ts'
import { carriesPipeline, type Chunk } from '../../model/chunk.ts'
import { hasFailed, hasSucceeded } from '../../model/status.ts'
import { nameOf, ownInstance, tokenNotice, type Condition } from '../../model/condition.ts'
import type { Millis } from '../../model/instant.ts'
import type { PlatformEvent } from '../../model/event.ts'

/**
 * Returns whether the default branch is broken or fixed, according to the result of a pipeline. Returns undefined for a canceled or skipped pipeline,
 * and for a child pipeline, whose result is part of its parent's.
 */
export function ofDefaultBranch(chunk: Chunk): Condition | undefined {
  const { key, project, attempt, pipeline } = chunk
  const { facts, end, verdict } = pipeline
  const { status, ref = '', sha, source, url, user, name } = facts
  const isOver = !pipeline.incomplete && (hasFailed(status) || hasSucceeded(status))
  if (!carriesPipeline(chunk) || !isOver || source === 'parent_pipeline') return undefined
  if (branchClassOf(facts, project) !== 'default') return undefined
  const isBroken = hasFailed(status)
  return {
    ...{ kind: 'default-branch', instance: key.instance, project, subject: ref, at: end, url },
    state: isBroken ? 'broken' : 'fixed',
    // Versions are ordered by pipeline id. As on the platform, a retry of an older pipeline does not make it the newest one.
    version: [key.pipelineId, attempt],
    title: `${nameOf(project)}: ${ref} ${isBroken ? 'is broken' : 'works again'}`,
    text: `Pipeline ${key.pipelineId} ${isBroken ? (verdict ?? 'failed') : 'succeeded'}.`,
    details: {
      ...{ 'cicd.pipeline.run.id': String(key.pipelineId), 'cicd.pipeline.name': name, 'vcs.ref.head.name': ref },
      ...{ 'vcs.ref.head.revision': sha, 'user.name': user?.username },
    },
  }
}

const day = 86_400_000
/**
 * Returns the condition for a project or group access token whose expiry the platform has announced. The platform announces each expiry once, and
 * nothing reports that a token was replaced.
 */
export function ofAnnouncedToken(event: PlatformEvent, receivedAt: Millis): Condition | undefined {
  if (event.kind !== 'access_token') return undefined
  const { instance, project, group, attributes, object } = event
  const expires = String(attributes['platform.access_token.expires_at'] ?? '')
  const expiresAt = Date.parse(expires)
  // A day is added to the notice period, because the platform announces an expiry at the beginning of a day.
  if (!(expiresAt - receivedAt <= tokenNotice + day)) return undefined
  const name = String(attributes['platform.access_token.name'] ?? '')
  return {
    ...{ kind: 'tokens', instance, project, group, subject: `${object} ${expires}`, at: event.at ?? receivedAt },
    ...{ state: 'broken', version: [Math.round(receivedAt)] },
    title: `${project === undefined ? (group ?? instance) : nameOf(project)}: access token ${name} expires on ${expires}`,
    details: { 'platform.access_token.name': name, 'platform.access_token.expires_at': expires },
  }
}

export function ofDeadLetters(destination: string, dead: number, now: Millis): Condition {
  const isBroken = dead > 0
  return {
    ...{ kind: 'dead-letters', instance: ownInstance, subject: destination, at: now, version: [Math.round(now)] },
    state: isBroken ? 'broken' : 'fixed',
    title: isBroken
      ? `Destination ${destination} refused ${dead === 1 ? 'an export' : `${dead} exports`} for good`
      : `Destination ${destination} no longer has refused exports`,
    text: isBroken ? 'The exports page and "pipespan dead-letters list" show why.' : undefined,
    details: { destination },
    // A receiver is not notified about the messages that it rejected itself.
    except: destination,
  }
}
