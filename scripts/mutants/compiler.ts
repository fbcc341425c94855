// Checks which mutants compile. A mistake that fails type checking needs no test.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'

export class Compiler {
  readonly #root: string
  readonly #service: ts.LanguageService
  /** The file that contains the mutant, with its changed text. All other files are read from disk. */
  #changed: { readonly file: string; readonly text: string } | undefined
  #version = 0

  constructor(root: string) {
    this.#root = root
    // An unused name in a mutant does not count as a type error.
    const lenient = { noUnusedLocals: false, noUnusedParameters: false }
    const fail = (found: ts.Diagnostic): never => {
      throw new Error(ts.flattenDiagnosticMessageText(found.messageText, '\n'))
    }
    const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail }
    const config = ts.getParsedCommandLineOfConfigFile(path.join(root, 'tsconfig.json'), lenient, host)
    if (config === undefined) throw new Error('tsconfig.json cannot be read.')
    const sources = config.fileNames.filter(file => file.startsWith(path.join(root, 'src', path.sep)))
    const textOf = (file: string): string | undefined =>
      this.#changed?.file === file ? this.#changed.text : ts.sys.readFile(file)
    this.#service = ts.createLanguageService({
      getCompilationSettings: () => config.options,
      getScriptFileNames: () => sources,
      getScriptVersion: file => (this.#changed?.file === file ? String(this.#version) : 'disk'),
      getScriptSnapshot: file => {
        const text = textOf(file)
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
      },
      getCurrentDirectory: () => root,
      getDefaultLibFileName: options => ts.getDefaultLibFilePath(options),
      fileExists: file => ts.sys.fileExists(file),
      readFile: textOf,
      readDirectory: ts.sys.readDirectory.bind(ts.sys),
    })
  }

  accepts(file: string, text: string): boolean {
    const full = path.join(this.#root, file)
    if (readFileSync(full, 'utf8') === text) return true
    this.#version += 1
    this.#changed = { file: full, text }
    return [...this.#service.getSyntacticDiagnostics(full), ...this.#service.getSemanticDiagnostics(full)].length === 0
  }
}
