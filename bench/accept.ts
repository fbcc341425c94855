// Durable webhooks accepted per second, against a bare node:http server that only collects the body.
import { finishedPipeline } from './payload.ts'
import { load } from './load.ts'
import { startDaemon, startServer, webhookHeaders, type Running, type RunningDaemon } from './processes.ts'
import type { Question } from './question.ts'

const webhook = finishedPipeline(20)
let bare: Running
let daemon: RunningDaemon
let sent = 0

export const accept: Question = {
  name: 'durable webhooks accepted per second (20 jobs, 32 connections)',
  against: 'bare node:http that collects the body',
  asked: { atLeast: 0.22, aim: 0.3 },
  unit: 'requests/s',
  rounds: { full: 7, quick: 3 },
  open: async () => {
    bare = await startServer('bare-server.ts')
    // Nothing settles during the measurement: what is exported is another question.
    daemon = await startDaemon({ env: { PIPESPAN_SETTLE: '1h' } })
  },
  round: async quick => {
    const forMs = quick ? 1_500 : 4_000
    const common = { connections: 32, forMs, path: '/webhooks' }
    const first = sent
    const rival = await load({
      ...common,
      port: bare.port,
      body: n => webhook.body(n),
      headers: n => webhookHeaders('Pipeline Hook', n),
    })
    const ours = await load({
      ...common,
      port: daemon.port,
      body: n => webhook.body(first + n),
      headers: n => webhookHeaders('Pipeline Hook', first + n),
    })
    sent += ours.requests + 100
    if (ours.statuses['202'] !== ours.requests)
      throw new Error(`not all were accepted: ${JSON.stringify(ours.statuses)}`)
    return { ours: ours.perSecond, rival: rival.perSecond }
  },
  close: async () => {
    await daemon.stop()
    await bare.stop()
  },
}
