// Writes reports of conditions in the last steps of a transaction. It updates the state of each condition under its lock, and puts messages into the
// outbox.
import { afterReport, compareVersions, messageAttributes, subjectDigest } from './incident.ts'
import { concurrently, lockNames, type Steps, type Within } from '../../core/store/sql/steps.ts'
import { knownCondition, knownConditions, type StoredCondition } from './documents.ts'
import { messageKey } from '../../model/condition.ts'
import { selectValue, valueOf, writeValue } from '../../core/store/sql/repositories.ts'
import { storedDocument } from '../../core/store/sql/stored-json.ts'
import { writeEvent } from '../../core/store/sql/events.ts'
import type { ConditionMessage, KnownCondition, RoutedCondition } from './incident.ts'
import type { Reporter } from '../../core/store/ports/runs.ts'

/**
 * The high order makes this reporter run after all other reporters that lock rows, and after the totals have been written. Once a transaction has
 * locked conditions, it locks nothing else.
 */
export const conditionReporter: Reporter<RoutedCondition> = { order: 200, write: writeConditions }

function* writeConditions(reports: readonly RoutedCondition[], within: Within): Steps<void> {
  if (reports.length === 0) return
  // Reports are sorted by version, because several pipelines of a branch may settle in one transaction, in any order.
  const inOrder = reports.toSorted((a, b) => compareVersions(a.condition.version, b.condition.version))
  const byName = Map.groupBy(inOrder, ({ condition }) => `${knownConditions.kind} ${subjectDigest(condition)}`)
  yield* lockNames([...byName.keys()], within)
  yield* concurrently([...byName].map(([name, own]) => writeCondition(name, own, within)))
}

/** Writes all reports of one condition, oldest first. */
function* writeCondition(name: string, reports: readonly RoutedCondition[], within: Within): Steps<void> {
  const { now, damaged } = within
  const [row] = yield [selectValue, [name]]
  const stored = damaged.row('key_value', row, one => storedDocument(valueOf(one), knownCondition), { name })
  const messages: ConditionMessage[] = []
  let known: KnownCondition | undefined = stored
  for (const report of reports) {
    const next = afterReport(known, report, now)
    if (next?.message !== undefined) messages.push(next.message)
    known = next?.known ?? known
  }
  if (known === undefined || known === stored) return
  yield [writeValue, [name, JSON.stringify({ ...known, changedAt: now } satisfies StoredCondition)]]
  for (const { chunk, to } of messages) {
    const key = messageKey(known.subject, String(chunk.event.attributes[messageAttributes.id]))
    const queues = to.map(destination => ({ destination, signal: 'notifications' as const }))
    const event = { event: { object: key, key, content: '' }, chunk, to: queues }
    yield* writeEvent(event, within)
  }
}
