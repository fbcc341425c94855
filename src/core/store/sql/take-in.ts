// What was received becomes part of its runs, as the steps of one transaction: which deliveries are new, what they change, what they
// report besides, and which could not be decoded.
import { changeRuns, type OnChanged } from './runs.ts'
import { deleteQuarantined, insertUndecodable } from './quarantine.ts'
import { rememberKeys } from './delivery-keys.ts'
import type { Steps, Within } from './steps.ts'
import type { TakingIn } from '../ports/runs.ts'

/** Returns whether each delivery was new. */
export function* takeIn(
  { keys, plan }: TakingIn,
  onChanged: OnChanged | undefined,
  within: Within,
): Steps<readonly boolean[]> {
  const areNew = yield* rememberKeys(keys, within)
  const { work, reports, undecodable = [], retried = [] } = plan(areNew)
  yield* changeRuns(work, reports, onChanged, within)
  for (const step of insertUndecodable(undecodable)) yield step
  if (retried.length > 0) yield deleteQuarantined(retried)
  return areNew
}
