// Tests the shipped daemon while tokens are rotated and revoked, rotations are killed, and pipelines arrive. No pipeline may be lost or exported
// twice.
import { expect, it } from 'vitest'
import { Random } from '../../../src/simulator/platform/random.ts'
import { isFull, report } from '../../e2e/load.ts'
import { LoadedDaemon } from './loaded-daemon.ts'

const rotations = isFull ? 20 : 1
// The seed of the random numbers. With this seed no rotation of the short test is killed between its journal entry and its request, because the next
// rotation would then have to wait for a late token.
const seed = isFull ? Date.now() % 1_000_000 : 19
const timeoutMs = 900_000

/** The moment at which a rotation is killed: after this many lines of output, or after this many of its requests took effect. */
interface Moment {
  readonly after: 'lines' | 'requests'
  readonly count: number
}

function momentOf(random: Random): Moment {
  return random.chance(0.5)
    ? { after: 'lines', count: random.whole(1, 12) }
    : { after: 'requests', count: random.whole(1, 4) }
}

/** Runs a rotation and kills it. Returns whether it was killed before it finished. */
async function rotateAndKill(world: LoadedDaemon, args: readonly string[], { after, count }: Moment): Promise<boolean> {
  const { instance } = world
  const program = world.begin(...args)
  let requests = 0
  if (after === 'requests') {
    instance.onDone = (_, url) => {
      if (url.startsWith('/api/') && (requests += 1) === count) program.child.kill('SIGKILL')
    }
  } else {
    program.child.stderr?.on('data', () => {
      if (program.stderr.split('\n').length > count) program.child.kill('SIGKILL')
    })
  }
  const { code, signal } = await program.ended
  instance.onDone = () => undefined
  if (signal !== 'SIGKILL') expect(code, program.stderr).toBe(0)
  return signal === 'SIGKILL'
}

it(
  `exports every pipeline once, without a rejected export, in ${rotations} rotations under load that are each killed once, and leaves one token`,
  async () => {
    const world = await LoadedDaemon.start()
    const { instance } = world
    const random = new Random(seed)
    const args = ['tokens', 'rotate', '--name', 'pipespan', '--target', `file:${world.file}`, '--grace', '10m']
    const began = performance.now()
    const moments: string[] = []
    let unkilled = 0
    for (let done = 0; done < rotations; done += 1) {
      const before = world.held
      for (let moment = momentOf(random); ; moment = momentOf(random)) {
        moments.push(`${moment.count} ${moment.after}`)
        if (await rotateAndKill(world, args, moment)) break
        unkilled += 1
      }
      expect(instance.tokens.map(({ value }) => value)).toContain(world.held)
      const { code, stdout, stderr } = await world.command(...args)
      expect(code, stderr).toBe(0)
      expect(stdout).toContain('is in use')
      expect(instance.tokens.map(({ value }) => value)).toEqual([world.held])
      expect(world.held).not.toBe(before)
    }
    const seconds = (performance.now() - began) / 1000
    await world.settle()
    expect(instance.tokens.map(({ value }) => value)).toEqual([world.held])
    expect(instance.refusals).toEqual([])
    if (!isFull) return
    report({
      seed,
      rotations: rotations + unkilled,
      killed: rotations,
      seconds: Math.round(seconds),
      pipelines: world.pipelines,
      spans: instance.spans.length,
      exports: instance.exports.accepted,
      refused: instance.exports.refused,
      tokensCreated: instance.issued.length,
      tokensLeft: instance.tokens.length,
    })
    process.stdout.write(`killed after: ${moments.join(', ')}\n`)
  },
  timeoutMs,
)
