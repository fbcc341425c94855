// Runs every command once on the store of a daemon under load. Each command does its work or refuses to, and none loses data. Everything that the
// daemon acknowledged arrives, even after the daemon was killed.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { Daemon, run } from '../e2e/daemon.ts'
import { allCommands } from '../support/all-commands.ts'
import { arrivals, numberProcess } from './arrivals.ts'
import { isFull } from '../e2e/load.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { SteadyFeed } from './steady-feed.ts'

const rounds = isFull ? 10 : 1
const timeoutMs = 900_000
const share = isFull ? 120 : 2
/** The demo runs only in the long form of this test, because it takes long. It has its own store. */
const long = ['demo', '--once']

it(
  'loses and repeats nothing while every command runs on the store of a busy daemon, which is then killed',
  async () => {
    const receiver = closeAfterTest(await OtlpReceiver.start())
    const [port = 0] = await freePorts(1)
    const daemon = await Daemon.start({
      ...numberProcess(1),
      PIPESPAN_LISTEN: `127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    })
    const place = temporaryFolder()
    const payload = path.join(place, 'payload.json')
    writeFileSync(payload, pipelineEvent({ id: 1 }))
    const feed = new SteadyFeed(daemon.webhooks)
    const tried: string[] = [long.join(' ')]
    const next = async (...command: string[]): ReturnType<Daemon['command']> => {
      tried.push(command.join(' '))
      await feed.more(share)
      return daemon.command(...command)
    }
    for (let round = 0; round < rounds; round += 1) {
      // Each command with the exit code that is expected in this test.
      const commands: readonly [code: number, ...command: string[]][] = [
        [0, 'config', 'check'],
        [0, 'map', payload],
        [0, 'inbox', 'list'],
        [1, 'inbox', 'show', '4711'],
        [0, 'inbox', 'retry', '--all'],
        [0, 'dead-letters', 'list'],
        [1, 'dead-letters', 'show', '4711'],
        [0, 'dead-letters', 'retry', '--all'],
        [0, 'dead-letters', 'drop', '--all'],
        [0, 'migrate'],
        [0, 'regressions', '--all'],
        [0, 'store', 'backup', path.join(place, `backup-${round}.db`)],
        [1, 'store', 'copy', 'configured', `sqlite:${path.join(place, `copy-${round}.db`)}`],
        [1, 'store', 'copy', `sqlite:${path.join(place, `backup-${round}.db`)}`, 'configured'],
        [1, 'backfill', '--since', '1d', '--deliver'],
        [1, 'serve'],
      ]
      for (const [code, ...command] of commands) {
        const ended = await next(...command)
        expect({ command, ...ended }).toMatchObject({ code })
      }
      // `top` waits only a few seconds for the daemon, which may take longer to respond on a busy machine.
      await expect.poll(async () => (await next('top', '--json', '--url', daemon.adminUrl)).code).toBe(0)
      // The results of these commands depend on the services that they find, so the test accepts each of these exit codes.
      const others = [
        ['doctor'],
        ['backfill', '--since', '1d'],
        ['hooks', 'ensure', '--project', '1', '--url', 'https://pipespan.example.com/webhooks'],
        ...[['list'], ['create', 'a-name'], ['revoke', '1'], ['rotate']].map(command => ['tokens', ...command]),
        ['enforcement', 'status'],
        ...[['list'], ['confirm', 'none'], ['drop', 'none']].map(command => ['held', ...command]),
        ['try', 'http://127.0.0.1:9', 'acme/shop', '--no-open'],
        ['notify', 'none'],
        ['traceparent'],
        ['setup', '--dry-run', '--folder', path.join(place, 'setup')],
      ]
      for (const command of others) expect([0, 1, 2, 5]).toContain((await next(...command)).code)
    }
    if (isFull) expect(await run(long)).toMatchObject({ code: 0 })
    const left = allCommands().filter(path => !tried.some(one => `${one} `.startsWith(`${path} `)))
    expect(left).toEqual([])
    await feed.more(share)
    await daemon.kill()
    await daemon.restart(numberProcess(2))
    await feed.stop()
    await feed.arrivesAt(receiver, timeoutMs / 2)
    expect(await daemon.stop()).toEqual({ code: 0, signal: null })
    expect(arrivals(receiver.requests).unexplained).toEqual([])
    expect([...feed.refused.keys()].filter(status => status !== 0)).toEqual([])
  },
  timeoutMs,
)
