// Tests an attacker who captured a signed delivery and replays it within its 300 s. The replayed deliveries have no effect.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver, patient } from '../support/otlp-receiver.ts'
import { defaultInstance } from '../../src/simulator/platform/world.ts'
import { Daemon } from '../e2e/daemon.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { pipelineBody, post, signedHeaders, signingToken } from './honest.ts'

/** Changes to headers that the signature does not cover, so that an attacker could make them. */
const changed: Readonly<Record<string, Record<string, string | undefined>>> = {
  'as it was': {},
  'another Idempotency-Key': { 'idempotency-key': 'another' },
  'no Idempotency-Key': { 'idempotency-key': undefined },
  'another instance': { 'x-service-instance': 'https://evil.example' },
  'another instance below the same origin': { 'x-service-instance': `${defaultInstance}/evil` },
  "another instance in the other vendor's spelling": { 'x-gitlab-instance': 'https://evil.example' },
  'another key and another instance': {
    'idempotency-key': 'a-third',
    'x-service-instance': 'https://evil.example',
  },
  'another event': { 'idempotency-key': 'a-fourth', 'x-service-event': 'Job Hook' },
  'no event': { 'idempotency-key': 'a-fifth', 'x-service-event': undefined },
  'a token beside it': { 'idempotency-key': 'a-sixth', 'x-service-token': 'guessed' },
  'another path to the same place': { 'x-service-event-uuid': 'new', 'x-service-webhook-uuid': 'new' },
}

const stores = {
  SQLite: async () => undefined,
  PostgreSQL: newDatabase,
}

it.each(Object.entries(stores))(
  'recognizes a captured delivery as a duplicate on %s, whichever unsigned headers are changed',
  async (_name, database) => {
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const store = await database()
    const daemon = await Daemon.start({
      ...patient,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      PIPESPAN_WEBHOOK_SIGNING_TOKEN: signingToken,
      PIPESPAN_WEBHOOK_TOKEN: undefined,
      ...(store !== undefined && { PIPESPAN_STORE_URL: store }),
    })
    const body = pipelineBody(1)
    const captured = { ...signedHeaders(body, 'captured'), 'x-service-instance': defaultInstance }
    const replay = async (): Promise<[string, number][]> => {
      const answers: [string, number][] = []
      for (const [name, change] of Object.entries(changed)) {
        const sent: Record<string, string> = { ...captured }
        for (const [header, value] of Object.entries(change)) {
          if (value === undefined) Reflect.deleteProperty(sent, header)
          else sent[header] = value
        }
        answers.push([name, await post(daemon.webhooks, body, sent)])
      }
      return answers
    }
    const duplicates = Object.keys(changed).map(name => [name, 200])

    expect(await post(daemon.webhooks, body, captured)).toBe(202)
    expect(await replay()).toEqual(duplicates)
    await daemon.stop()
    await daemon.restart()
    expect(await replay()).toEqual(duplicates)

    const last = pipelineBody(2)
    expect(await post(daemon.webhooks, last, signedHeaders(last, 'last'))).toBe(202)
    const pipelines = (): number[] =>
      receiver.spans.filter(({ kind }) => kind === 'server').map(({ attributes }) => Number(attributes['pipeline.id']))
    await receiver.until(() => pipelines().includes(2))
    await daemon.stop()
    // Both pipelines may be exported at the same time, so their order is undefined.
    expect(pipelines().sort((a, b) => a - b)).toEqual([1, 2])
  },
)

it('ignores an instance header that is not signed, even from a sender with the token', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const daemon = await Daemon.start({ ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  const body = pipelineBody(1)
  for (const instance of [defaultInstance, 'https://evil.example', `${defaultInstance}/evil`]) {
    const headers = { 'x-service-event': 'Pipeline Hook', 'x-service-instance': instance, 'idempotency-key': instance }
    expect((await daemon.post(body, headers)).status).toBe(202)
  }
  await receiver.until(() => receiver.spans.length > 0)
  await daemon.stop()
  expect(receiver.spans.filter(({ kind }) => kind === 'server')).toHaveLength(1)
})
