// Tests the container image without a container: an unprivileged user starts the files that the Dockerfile copies, as the Dockerfile specifies, in a
// read-only folder.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyImage, emptyFolder, makeReadOnly, repository, sizeOf, subfolder, type Folder } from './install.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'

const dockerfile = readFileSync(path.join(repository, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ')
const stage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))
const isRoot = process.getuid?.() === 0

/** Returns the arguments of an instruction in the Dockerfile's last stage. */
function description(instruction: string): string {
  return new RegExp(`^(?:${instruction}) +(.*)$`, 'm').exec(stage)?.[1] ?? ''
}

function pairs(text: string): Record<string, string> {
  const found = text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)
  return Object.fromEntries([...found].map(([, name = '', quoted, plain]) => [name, quoted ?? plain ?? '']))
}

describe('the Dockerfile', () => {
  it('labels the image with the package description', () => {
    const { version, license } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as {
      version: string
      license: string
    }
    expect(pairs(description('LABEL'))).toMatchObject({
      'org.opencontainers.image.title': 'Pipespan',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': license,
    })
  })

  it('uses one base image, pinned by digest, to build and to run, with the same Node version as the tests', () => {
    const { devDependencies } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as {
      devDependencies: Record<string, string>
    }
    const [, image = ''] = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile) ?? []
    expect(image).toMatch(/^node:\d+\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/)
    expect(image).toContain(`node:${devDependencies.node}-`)
    const stages = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, from]) => from)
    expect(stages).toEqual(['${NODE_IMAGE}', '${NODE_IMAGE}'])
    // The documented commands that update the base image use the same version.
    const operating = readFileSync(path.join(repository, 'docs/operating.md'), 'utf8')
    for (const text of [dockerfile, operating]) {
      expect(new Set(text.match(/node:\d[\w.]*-bookworm-slim/g))).toEqual(new Set([image.replace(/@.*/, '')]))
    }
  })

  it('runs the image as a numeric user, so that Kubernetes can verify that the user is not root', () => {
    expect(description('USER')).toBe('65532:65532')
  })
})

describe('the contents of the container image', () => {
  let folder: Folder
  let app: string
  let data: string
  let node: string
  beforeAll(() => {
    folder = emptyFolder()
    app = subfolder(folder.path, 'app')
    data = subfolder(folder.path, 'data')
    copyImage(app)
    makeReadOnly(app)
    chmodSync(data, 0o700)
    if (isRoot) chownSync(data, 65532, 65532)
    // Node is copied to a folder that the other user can access, because this checkout may be in a folder that is private.
    node = path.join(folder.path, 'node')
    copyFileSync(process.execPath, node)
    chmodSync(node, 0o755)
  })
  afterAll(() => {
    if (!isRoot) spawnSync('chmod', ['-R', 'u+w', folder.path])
    folder[Symbol.dispose]()
  })

  it('contains exactly the files that the Dockerfile copies into the image', () => {
    const copied = [...stage.matchAll(/^COPY (?:--from=build )?(.*) \S+$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    )
    expect(readdirSync(app).sort()).toEqual(copied.map(name => name.replace('/app/', '')).sort())
  })

  it('adds less than 12 MB to the Node image', () => {
    expect(sizeOf(app)).toBeLessThan(12_000_000)
  })

  it('includes the licences of the packages whose code is in the bundle', () => {
    const text = readFileSync(path.join(app, 'dist/THIRD-PARTY-LICENCES.txt'), 'utf8')
    const packages = [...text.matchAll(/^(\S+) \d+\.\d+\.\d+: \S+$/gm)].map(([, name]) => name)
    expect(packages).toEqual(expect.arrayContaining(['@opentelemetry/api', 'fastify', 'pg', 'undici', 'zod']))
  })

  it('starts a healthy daemon that stops cleanly and writes only to the data folder', async () => {
    const [port = 0, adminPort = 0] = await freePorts(2)
    const env = {
      ...pairs(description('ENV')),
      PIPESPAN_LISTEN: `127.0.0.1:${port}`,
      PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      PIPESPAN_STORE_URL: pairs(description('ENV')).PIPESPAN_STORE_URL?.replace('/data', data) ?? '',
      PIPESPAN_WEBHOOK_TOKEN: 'a-token-for-this-test',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    }
    const [, ...entry] = JSON.parse(description('ENTRYPOINT')) as string[]
    const args = [...entry, ...(JSON.parse(description('CMD')) as string[])].map(word => word.replace(/^\/app/, app))
    const as = isRoot ? { uid: 65532, gid: 65532 } : {}
    const daemon = spawn(node, args, { cwd: app, env, ...as, stdio: ['ignore', 'ignore', 'pipe'] })
    const lines: string[] = []
    daemon.stderr.setEncoding('utf8').on('data', (text: string) => lines.push(text))
    try {
      const isReady = () =>
        fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        )
      await expect.poll(isReady, { interval: 100 }).toBe(true)
      const check = JSON.parse(/HEALTHCHECK[^[]*CMD (\[.*\])/.exec(stage)?.[1] ?? '[]') as string[]
      expect(spawnSync(node, check.slice(1), { cwd: app, env, ...as }).status).toBe(0)
      daemon.kill('SIGTERM')
      await expect(once(daemon, 'exit')).resolves.toEqual([0, null])
      expect(spawnSync(node, check.slice(1), { cwd: app, env, ...as }).status).toBe(1)
    } catch (error) {
      throw new Error(`The output of the daemon was: ${lines.join('')}`, { cause: error })
    } finally {
      daemon.kill('SIGKILL')
    }
    expect(readdirSync(data)).toContain('pipespan.db')
  })
})
