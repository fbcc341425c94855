// Parses windows of text into XML elements, of one document or several in a row. Lenient: what is not well-formed is skipped and reported once. Only
// XML's five own entities are known; a document type that declares entities is refused.
import sax from 'sax'
import { ReportFault } from './report-fault.ts'

export type Attributes = Readonly<Record<string, string>>

export interface ElementSink {
  /** An XML declaration: another document begins, even if elements are open. */
  document(): void
  open(name: string, attributes: Attributes): void
  text(text: string): void
  close(name: string): void
}

export interface ElementReader {
  /** `text`: a window of some KiB, as no buffer is limited within it. Throws a ReportFault if the report must not be read further, and what the sink throws. */
  write(text: string): void
  /** Answers the first error of well-formedness. */
  end(): ReportFault | undefined
  /** Whether any element was found. */
  readonly sawElement: boolean
}

/** Limit of one attribute, comment or tag, characters; longer text comes in pieces. */
const maxTokenLength = 1024 * 1024
const maxAttributes = 1_000
const maxFaults = 1_000

/** Errors that the parser reports between several documents in one file. */
const betweenDocuments = /^(?:Inappropriately located doctype declaration|XML declaration encoding)/

export function createElementReader(sink: ElementSink): ElementReader {
  // The limit is global to the library, which is used only here.
  Object.assign(sax, { MAX_BUFFER_LENGTH: maxTokenLength })
  const parser = sax.parser(true, { strictEntities: true } as sax.SAXOptions)
  let firstFault: ReportFault | undefined
  let sawElement = false
  let attributes = 0
  let length = 0
  let faults = 0

  parser.onerror = error => {
    const said = error.message.split('\n', 1)[0] ?? ''
    if (said.startsWith('Max buffer length')) throw tooLong(parser)
    // Lets the parser continue.
    ;(parser as { error: Error | null }).error = null
    if (betweenDocuments.test(said)) return
    faults += 1
    const unfinished = said === 'Unclosed root tag' || said === 'Unexpected end'
    firstFault ??= unfinished
      ? new ReportFault('truncated', `The report ends within its line ${parser.line + 1}.`)
      : new ReportFault('malformed', `The report is no well-formed XML in its line ${parser.line + 1}.`)
    // Each takes time, and a report with so many errors is useless.
    if (faults > maxFaults) throw firstFault
  }
  parser.onopentagstart = () => {
    attributes = 0
    length = 0
  }
  parser.onattribute = ({ name, value }) => {
    attributes += 1
    length += name.length + value.length
    if (attributes > maxAttributes || length > maxTokenLength) throw tooLong(parser)
  }
  parser.onopentag = ({ name, attributes: own }) => {
    sawElement = true
    // Otherwise all after the first document would be an error.
    Object.assign(parser, { closedRoot: false })
    sink.open(name, own as Attributes)
  }
  parser.onclosetag = name => sink.close(name)
  parser.ontext = text => sink.text(text)
  parser.oncdata = text => sink.text(text)
  parser.oncomment = comment => {
    if (comment.length > maxTokenLength) throw tooLong(parser)
  }
  parser.ondoctype = declared => {
    if (declared.includes('<!ENTITY')) {
      throw new ReportFault('entities', `The report declares entities in its line ${parser.line + 1}.`)
    }
  }
  parser.onprocessinginstruction = ({ name }) => {
    if (name.toLowerCase() === 'xml') sink.document()
  }

  return {
    get sawElement() {
      return sawElement
    },
    write: text => void parser.write(text),
    end: () => {
      parser.close()
      return firstFault
    },
  }
}

function tooLong(parser: sax.SAXParser): ReportFault {
  return new ReportFault(
    'too_large',
    `The report has an attribute or a comment that is too long, in its line ${parser.line + 1}.`,
  )
}
