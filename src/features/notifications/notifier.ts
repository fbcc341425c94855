// Decides which rules of notifications take a report of a condition. Pure.
import { ofInstance, type ByInstance } from '../../model/instance.ts'
import { subjectOf, type Route } from '../../model/route.ts'
import { conditionReporter } from './condition-reporter.ts'
import { reportsBy, type Notifier } from '../../core/store/ports/reporter.ts'
import type { Condition, ConditionKind } from '../../model/condition.ts'
import type { RoutedCondition } from './incident.ts'
import type { Millis } from '../../model/instant.ts'

export interface NotificationRoute extends Pick<Route, 'takes'> {
  /** The name of its destination. */
  readonly name: string
  readonly of: readonly ConditionKind[]
  /** What happened earlier is not sent. */
  readonly since: Millis
}

/** `route` is what it reports, before it is given to a transaction. */
export interface RoutingNotifier extends Notifier {
  readonly route: (...conditions: readonly (Condition | undefined)[]) => RoutedCondition[]
}

/** `redact`: removes secrets from texts that come from projects. */
export function createNotifier(
  routes: readonly NotificationRoute[],
  redact: (text: string) => string,
  profile: ByInstance<string>,
): RoutingNotifier {
  const route: RoutingNotifier['route'] = (...conditions) =>
    conditions.flatMap(condition => {
      if (condition === undefined) return []
      const { kind, instance, at, except } = condition
      const about = routes.filter(({ of, takes }) => of.includes(kind) && (takes?.(subjectOf(condition)) ?? true))
      if (about.length === 0) return []
      const to = about.filter(({ since, name }) => at >= since && name !== except).map(({ name }) => name)
      return [{ condition: redacted(condition, redact), to, profile: ofInstance(profile, instance) }]
    })
  return {
    isAbout: kind => routes.some(({ of }) => of.includes(kind)),
    route,
    reports: (...conditions) => reportsBy(conditionReporter, route(...conditions)),
  }
}

function redacted(condition: Condition, redact: (text: string) => string): Condition {
  const { title, text, details = {} } = condition
  const clean = Object.entries(details).map(([key, value]) => [key, typeof value === 'string' ? redact(value) : value])
  return {
    ...condition,
    title: redact(title),
    ...(text !== undefined && { text: redact(text) }),
    details: Object.fromEntries(clean) as Condition['details'],
  }
}
