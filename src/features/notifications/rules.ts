// Turns the configured notifications into rules for what is sent to whom.
import { conditionKinds, type ConditionKind } from '../../model/condition.ts'
import { createNotifier } from './notifier.ts'
import { createTextRedaction } from '../../lib/text-redaction.ts'
import { redact } from '../../lib/secret.ts'
import { rules } from './documents.ts'
import { takesOf } from './destinations.ts'
import type { NotificationOptions } from './options.ts'
import type { Notifier } from '../../core/store/ports/reporter.ts'
import type { RuleContext } from '../../daemon/feature.ts'

/** Stores since when each rule exists, because what happened before is not sent. */
export async function createRules(
  { notifications }: NotificationOptions,
  { config, store, platformOf, profile }: RuleContext,
): Promise<Notifier> {
  const known = store.repositories.of(rules)
  const routes = await Promise.all(
    notifications.map(async one => {
      const { name, of = Object.keys(conditionKinds) as ConditionKind[] } = one
      const since = await known.change({ name }, (rule, now) => {
        const document = rule ?? { name, since: now }
        return { document, result: document.since }
      })
      return { name, of, takes: takesOf(one, platformOf), since }
    }),
  )
  const redactText = createTextRedaction(config.redact ?? [])
  return createNotifier(routes, text => redact(redactText(text)), profile)
}
