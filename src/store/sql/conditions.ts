// Writes reports of conditions, as the last steps of a transaction: what is known of each changes under its lock, and a message goes to the outbox.
import {
  afterCondition,
  compareVersions,
  messageAttributes,
  messageKey,
  subjectDigest,
  type RoutedCondition,
} from '../../model/condition.ts'
import { knownCondition, type StoredCondition } from '../ports/condition-documents.ts'
import { lockNames, type Steps, type Within } from './steps.ts'
import { selectValue, valueOf, writeValue } from './key-value.ts'
import { storedDocument } from './stored-json.ts'
import { writeEvent } from './events.ts'
import type { WrittenEvent } from './waiting-events.ts'

/** The kind of the documents, which a repository reads. */
export const conditionDocument = 'condition'

/** After all else that locks: what locks conditions locks nothing later. Returns the messages. */
export function* writeConditions(reports: readonly RoutedCondition[], within: Within): Steps<WrittenEvent[]> {
  const { now, damaged } = within
  // Several pipelines of a branch may settle in one transaction, in any order.
  const inOrder = reports.toSorted((a, b) => compareVersions(a.condition.version, b.condition.version))
  const named = inOrder.map(report => ({ report, name: `${conditionDocument} ${subjectDigest(report.condition)}` }))
  if (named.length > 0)
    yield* lockNames(
      named.map(({ name }) => name),
      within,
    )
  const written: WrittenEvent[] = []
  for (const { report, name } of named) {
    const [row] = yield [selectValue, [name]]
    const known =
      row &&
      damaged.orNothing({ document: name }, 'it is written anew', () => storedDocument(valueOf(row), knownCondition))
    const next = afterCondition(known, report, now)
    if (next === undefined) continue
    const document: StoredCondition = { ...next.known, changedAt: now }
    yield [writeValue, [name, JSON.stringify(document)]]
    if (next.message === undefined) continue
    const { chunk, to } = next.message
    const id = String(chunk.event.attributes[messageAttributes.id])
    const key = messageKey(document.subject, id)
    const queues = to.map(destination => ({ destination, signal: 'notifications' as const }))
    const event = { event: { object: key, key, content: '' }, chunk, arrival: 0, to: queues }
    written.push(...(yield* writeEvent(event, now, 'last', damaged)))
  }
  return written
}
