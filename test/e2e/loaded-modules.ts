// Records which modules a shipped daemon loads, and what else uses its memory. The recording code is preloaded into the process.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { shipped } from '../shipped.ts'

export interface LoadedModules {
  /** The Node.js arguments that load the recording code into a process. */
  readonly nodeArgs: readonly string[]
  /** Returns the names of all modules (or parts of `Intl`) that the process has loaded so far. */
  names(): readonly string[]
}

/** Records the loaded modules of a process in files in `folder`. */
export function noteModules(folder: string): LoadedModules {
  const file = path.join(folder, 'loaded-modules')
  const preload = `
    import { appendFileSync } from 'node:fs'
    import { registerHooks } from 'node:module'
    registerHooks({
      load: (url, context, next) => {
        appendFileSync(${JSON.stringify(file)}, url + '\\n')
        return next(url, context)
      },
    })`
  return {
    nodeArgs: ['--import', `data:text/javascript,${encodeURIComponent(preload)}`],
    names: () =>
      existsSync(file)
        ? readFileSync(file, 'utf8')
            .split('\n')
            .map(url => path.basename(url))
        : [],
  }
}

/** Records the names of the formatters and other parts of `Intl` that a process creates, on each of its threads, in the same way as module names. */
export function noteIntl(folder: string): LoadedModules {
  const file = path.join(folder, 'made-of-intl')
  const preload = `
    import { appendFileSync } from 'node:fs'
    for (const name of Object.getOwnPropertyNames(Intl)) {
      if (typeof Intl[name] !== 'function' || Intl[name].prototype === undefined) continue
      const note = (make) => (...all) => {
        appendFileSync(${JSON.stringify(file)}, name + '\\n')
        return make(...all)
      }
      Intl[name] = new Proxy(Intl[name], { construct: note(Reflect.construct), apply: note(Reflect.apply) })
    }`
  return {
    nodeArgs: ['--import', `data:text/javascript,${encodeURIComponent(preload)}`],
    names: () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []),
  }
}

/** Returns the bundle file that contains this string. */
export function moduleWith(text: string): string {
  const folder = path.join(path.dirname(shipped), 'modules')
  const found = readdirSync(folder).filter(
    name => name.endsWith('.js') && readFileSync(path.join(folder, name), 'utf8').includes(text),
  )
  if (found.length !== 1) throw new Error(`${found.length} files of the bundle contain "${text}"`)
  return found[0]!
}
