// Tests the image built by `.ci/image`. It is started as a container would be: with a read-only root, a small tmpfs as its volume, and its own user.
// The test sends a webhook and receives its trace; it also runs the script of deploy/ci in the image.
import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process'
import type { Readable } from 'node:stream'
import { once } from 'node:events'
import { chmodSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { repository } from './install.ts'
import { startInstance } from '../support/observability-instance.ts'
import { startKubernetes } from '../support/kubernetes-secrets.ts'

interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
  readonly Volumes: Readonly<Record<string, object>>
}

const { PIPESPAN_TEST_IMAGE_ROOT: root = '', PIPESPAN_TEST_IMAGE_CONFIG: config } = process.env

/**
 * Runs `"$@"` in the image at `$1` as the user `$2`. Only 16 MiB at /data are writable. If the folder `$3` is not empty, it is mounted as the service
 * account of a pod.
 */
const asContainer = `
  root=$1 user=$2 account=$3; shift 3
  mount --make-rprivate /
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  mount -t tmpfs -o "size=16m,mode=0700,uid=\${user%:*},gid=\${user#*:}" tmpfs "$root/data"
  if [ -n "$account" ]; then
    mkdir -p "$root/run/secrets/kubernetes.io/serviceaccount"
    mount --bind "$account" "$root/run/secrets/kubernetes.io/serviceaccount"
  fi
  mount -o remount,bind,ro "$root"
  exec chroot --userspec="$user" "$root" "$@"
`

function imageConfig(): ImageConfig {
  return (JSON.parse(readFileSync(config ?? '', 'utf8')) as { OCIv1: { config: ImageConfig } }).OCIv1.config
}

/** Starts a process in the image, with the image's environment and `env`, and without the environment of this process. */
function inContainer(
  command: readonly string[],
  env: Record<string, string>,
  account = '',
): ChildProcessByStdio<null, Readable, Readable> {
  const image = imageConfig()
  const own = Object.fromEntries(image.Env.map(pair => pair.split(/=(.*)/s, 2) as [string, string]))
  const inside = ['--mount', 'sh', '-eu', '-c', asContainer, 'sh', root, image.User, account]
  return spawn('/usr/bin/unshare', [...inside, ...command], {
    // Node is found through the image's PATH.
    env: { ...own, ...env, PATH: `${own.PATH ?? '/usr/local/bin'}:/usr/sbin:/usr/bin:/sbin:/bin` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

it.skipIf(config === undefined)(
  'runs the deploy/ci job in the image, which replaces the token in the Kubernetes Secret',
  async () => {
    const text = readFileSync(path.join(repository, 'deploy/ci/token-rotation.yml'), 'utf8')
    const { 'rotate ingest token': job } = parse(text) as {
      'rotate ingest token': { script: string[]; variables: Record<string, string> }
    }
    const instance = await startInstance()
    const kubernetes = await startKubernetes('observability/pipespan-ingest')
    chmodSync(kubernetes.accountFolder, 0o755)
    try {
      const container = inContainer(
        ['sh', '-e', '-c', job.script.join('\n')],
        {
          ...job.variables,
          ...kubernetes.env,
          PIPESPAN_OBSERVABILITY_URL: instance.url,
          PIPESPAN_OBSERVABILITY_API_KEY: instance.apiKey,
          OTEL_EXPORTER_OTLP_ENDPOINT: instance.url,
        },
        kubernetes.accountFolder,
      )
      let output = ''
      for (const stream of [container.stdout, container.stderr])
        stream.setEncoding('utf8').on('data', (piece: string) => (output += piece))
      const [code] = (await once(container, 'close')) as [number | null]
      expect(code, output).toBe(0)
      expect(instance.tokens.map(({ value }) => value)).toContain(kubernetes.value('token'))
    } finally {
      await kubernetes.close()
      await instance.close()
    }
  },
)

it.skipIf(config === undefined)(
  'runs the image as its own user on a read-only root, and exports the trace of a webhook',
  async () => {
    const image = imageConfig()
    expect(image).toMatchObject({ User: '65532:65532', WorkingDir: '/app', Volumes: { '/data': {} } })
    const receiver = await OtlpReceiver.start({ keep: false })
    const [port = 0, adminPort = 0] = await freePorts(2)
    const token = 'a-token-for-this-test'
    const env: Record<string, string> = {
      PIPESPAN_LISTEN: `127.0.0.1:${port}`,
      PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      PIPESPAN_WEBHOOK_TOKEN: token,
      PIPESPAN_SETTLE: '100ms',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    }
    const container = inContainer([...image.Entrypoint, ...image.Cmd], env)
    container.stdout.resume()
    let output = ''
    container.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
    try {
      const isReady = () =>
        fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        )
      await expect.poll(isReady, { interval: 100 }).toBe(true)
      const status = readFileSync(`/proc/${container.pid}/status`, 'utf8')
      expect(status).toMatch(/^Uid:\t65532\t65532/m)
      expect(readFileSync(`/proc/${container.pid}/mountinfo`, 'utf8')).toMatch(/ \/ ro[, ]/)
      const spans = new Set<string>()
      receiver.on('received', received => {
        for (const { name } of received.spans) spans.add(name)
      })
      const example = spawnSync(process.execPath, [path.join(repository, 'docs/examples/just-now.js')], {
        encoding: 'utf8',
      })
      const headers = { 'content-type': 'application/json', 'x-gitlab-event': 'Pipeline Hook', 'x-gitlab-token': token }
      const answer = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body: example.stdout })
      expect(answer.status).toBe(202)
      await expect.poll(() => [...spans].filter(name => name.startsWith('job: ')).length).toBe(4)
      container.kill('SIGTERM')
      await expect(once(container, 'exit')).resolves.toEqual([0, null])
    } catch (error) {
      throw new Error(`The output of the container was: ${output}`, { cause: error })
    } finally {
      container.kill('SIGKILL')
      await receiver.close()
    }
  },
)
