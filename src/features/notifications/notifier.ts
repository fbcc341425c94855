// Decides which notification rules match a reported condition, and stores when each rule was created.
import { ofInstance, type ByInstance } from '../../model/instance.ts'
import { subjectOf, type Route } from '../../model/route.ts'
import { conditionKinds, type Condition, type ConditionKind } from '../../model/condition.ts'
import { conditionReporter } from './condition-reporter.ts'
import { createTextRedaction } from '../../lib/text-redaction.ts'
import { redact } from '../../lib/secret.ts'
import { rules } from './documents.ts'
import { takesOf } from './destinations.ts'
import { reportsBy, type Notifier } from '../../core/store/ports/reporter.ts'
import type { NotificationOptions } from './options.ts'
import type { RoutedCondition } from './incident.ts'
import type { RuleContext } from '../../daemon/feature.ts'
import type { Millis } from '../../model/instant.ts'

export interface NotificationRoute extends Pick<Route, 'takes'> {
  /** The name of the rule's destination. */
  readonly name: string
  readonly of: readonly ConditionKind[]
  /** When the rule was created. No messages are sent about conditions from before this time. */
  readonly since: Millis
}

/** A notifier that can also return conditions with their destinations, without creating reports for a transaction (`route`). */
export interface RoutingNotifier extends Notifier {
  readonly route: (...conditions: readonly (Condition | undefined)[]) => RoutedCondition[]
}

/** Creates a notifier. `clean` removes secrets from strings that come from projects. */
export function createNotifier(
  routes: readonly NotificationRoute[],
  clean: (text: string) => string,
  profile: ByInstance<string>,
): RoutingNotifier {
  const route: RoutingNotifier['route'] = (...conditions) =>
    conditions.flatMap(condition => {
      if (condition === undefined) return []
      const { kind, instance, at, except } = condition
      const about = routes.filter(({ of, takes }) => of.includes(kind) && (takes?.(subjectOf(condition)) ?? true))
      if (about.length === 0) return []
      const to = about.filter(({ since, name }) => at >= since && name !== except).map(({ name }) => name)
      return [{ condition: redacted(condition, clean), to, profile: ofInstance(profile, instance) }]
    })
  return {
    isAbout: kind => routes.some(({ of }) => of.includes(kind)),
    route,
    reports: (...conditions) => reportsBy(conditionReporter, route(...conditions)),
  }
}

function redacted(condition: Condition, clean: (text: string) => string): Condition {
  const { title, text, details = {} } = condition
  const cleaned = Object.entries(details).map(([key, value]) => [key, typeof value === 'string' ? clean(value) : value])
  return {
    ...condition,
    title: clean(title),
    ...(text !== undefined && { text: clean(text) }),
    details: Object.fromEntries(cleaned) as Condition['details'],
  }
}

/** Stores when each rule was created, because events before that time are not sent. */
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
