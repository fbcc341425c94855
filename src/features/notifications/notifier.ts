// Decides which rules of notifications take a report of a condition. Pure.
import { ofInstance, type ByInstance } from '../../model/instance.ts'
import { subjectOf, type Route } from '../../model/route.ts'
import { conditionReporter } from '../../core/store/sql/conditions.ts'
import { reportsBy } from '../../core/store/ports/reporter.ts'
import type { Reports } from '../../core/store/ports/runs.ts'
import type { Condition, ConditionKind, RoutedCondition } from '../../model/condition.ts'
import type { Millis } from '../../model/instant.ts'

export interface NotificationRoute extends Pick<Route, 'takes'> {
  /** The name of its destination. */
  readonly name: string
  readonly of: readonly ConditionKind[]
  /** What happened earlier is not sent. */
  readonly since: Millis
}

export interface Notifier {
  /** Whether any rule is about this. */
  isAbout(kind: ConditionKind): boolean
  /** Empty if no rule is about it. */
  route(...conditions: readonly (Condition | undefined)[]): RoutedCondition[]
  /** The same, as a transaction writes it. */
  reports(...conditions: readonly (Condition | undefined)[]): Reports[]
}

/** `redact`: removes secrets from texts that come from projects. */
export function createNotifier(
  routes: readonly NotificationRoute[],
  redact: (text: string) => string,
  profile: ByInstance<string>,
): Notifier {
  const route: Notifier['route'] = (...conditions) =>
    conditions.flatMap(condition => {
      if (condition === undefined) return []
      const { kind, instance, at } = condition
      const about = routes.filter(({ of, takes }) => of.includes(kind) && (takes?.(subjectOf(condition)) ?? true))
      if (about.length === 0) return []
      const to = about.filter(({ since }) => at >= since).map(({ name }) => name)
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
