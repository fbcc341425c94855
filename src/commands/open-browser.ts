// Opens a page in the person's browser, where that surprises nobody: in a terminal of a desktop, not over SSH and not in CI.
import { spawn } from 'node:child_process'
import type { Terminal } from '../lib/terminal.ts'

/** Answers whether it was tried. A browser that does not start is no error: the address is on the screen. */
export function openBrowser(url: string, { stdout, env }: Terminal, platform = process.platform): boolean {
  const command = commandOf(env, platform)
  const isRemote = [env.CI, env.SSH_CONNECTION, env.SSH_TTY].some(value => value !== undefined && value !== '')
  if (stdout.isTTY !== true || isRemote || command === undefined) return false
  spawn(command, [url], { env, stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref()
  return true
}

function commandOf({ DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv, platform: NodeJS.Platform): string | undefined {
  if (platform === 'darwin') return 'open'
  if (platform === 'win32') return 'explorer'
  return (DISPLAY ?? WAYLAND_DISPLAY ?? '') === '' ? undefined : 'xdg-open'
}
