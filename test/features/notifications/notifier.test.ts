// What people are told: texts of projects without secrets, and nobody of their own receiver.
import { expect, it } from 'vitest'
import { createNotifier } from '../../../src/features/notifications/notifier.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { ofDeadLetters } from '../../../src/features/notifications/conditions.ts'
import type { Condition } from '../../../src/model/condition.ts'

it('a secret is redacted in the title, the text and the details of a message', () => {
  const token = ['glpat-', 'aB3dE6gH9jK2mN5pQ8sT'].join('')
  const notifier = createNotifier(
    [{ name: 'chat', of: ['default-branch'], since: 0 }],
    createTextRedaction([]),
    'generic',
  )
  const condition: Condition = {
    ...{ kind: 'default-branch', instance: 'https://git.example.com', project: { id: 1 }, subject: 'main' },
    ...{ state: 'broken', version: [1, 1], at: 1, title: `plain ${token}`, text: `GET /a?b=${token} 403` },
    details: { a: token },
  }
  const routed = JSON.stringify(notifier.route(condition))
  expect(routed.split('[REDACTED]')).toHaveLength(4)
  expect(routed).not.toContain(token)
})

it('a receiver is not told that it refuses messages, while others are', () => {
  const rule = (name: string) => ({ name, of: ['dead-letters'] as const, since: 0 })
  const notifier = createNotifier([rule('chat'), rule('mail')], text => text, 'generic')
  const told = (destination: string) => notifier.route(ofDeadLetters(destination, 1, 1)).map(({ to }) => to)
  expect(told('chat')).toEqual([['mail']])
  expect(told('default')).toEqual([['chat', 'mail']])
})
