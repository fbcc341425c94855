// From windows of text to elements, of several documents one after the other. Lenient where a platform's users are: what is not well-formed is passed over
// and reported once. No entity but XML's own five is known, and a document type that declares any is refused.
import sax from 'sax'
import { ReportFault } from './report-fault.ts'

export type Attributes = Readonly<Record<string, string>>

export interface ElementSink {
  /** A declaration of XML: another document begins, whatever is still open. */
  document(): void
  open(name: string, attributes: Attributes): void
  text(text: string): void
  close(name: string): void
}

export interface ElementReader {
  /** Throws a ReportFault for what must not be read any further, and what the sink throws. */
  write(text: string): void
  /** The end of the text; answers the first thing that was not well-formed. */
  end(): ReportFault | undefined
  /** Whether there was any element. */
  readonly sawElement: boolean
}

/** Characters of one attribute, comment or tag; text that is longer is handed over in pieces. */
const longestToken = 1024 * 1024
const mostAttributes = 1_000
const mostFaults = 1_000
/** The parser looks at its buffers after each window, so that none grows much beyond its limit. */
const windowLength = 64 * 1024

/** What several documents in one file look like to a parser of one. */
const betweenDocuments = /^(?:Inappropriately located doctype declaration|XML declaration encoding)/

export function createElementReader(sink: ElementSink): ElementReader {
  // The parser has one limit for all parsers of the process; nobody else has any.
  Object.assign(sax, { MAX_BUFFER_LENGTH: longestToken })
  const parser = sax.parser(true, { strictEntities: true } as sax.SAXOptions)
  let firstFault: ReportFault | undefined
  let sawElement = false
  let attributes = 0
  let length = 0
  let faults = 0

  parser.onerror = error => {
    const said = error.message.split('\n', 1)[0] ?? ''
    if (said.startsWith('Max buffer length')) throw tooLong(parser)
    // Without this the parser would not go on.
    ;(parser as { error: Error | null }).error = null
    if (betweenDocuments.test(said)) return
    faults += 1
    const unfinished = said === 'Unclosed root tag' || said === 'Unexpected end'
    firstFault ??= unfinished
      ? new ReportFault('truncated', `The report ends within its line ${parser.line + 1}.`)
      : new ReportFault('malformed', `The report is no well-formed XML in its line ${parser.line + 1}.`)
    // Each takes time, and with so many of them it is no report with a flaw.
    if (faults > mostFaults) throw firstFault
  }
  parser.onopentagstart = () => {
    attributes = 0
    length = 0
  }
  parser.onattribute = ({ name, value }) => {
    attributes += 1
    length += name.length + value.length
    if (attributes > mostAttributes || length > longestToken) throw tooLong(parser)
  }
  parser.onopentag = ({ name, attributes: own }) => {
    sawElement = true
    // Else all that follows the first document would be text outside of it.
    Object.assign(parser, { closedRoot: false })
    sink.open(name, own as Attributes)
  }
  parser.onclosetag = name => sink.close(name)
  parser.ontext = text => sink.text(text)
  parser.oncdata = text => sink.text(text)
  parser.oncomment = comment => {
    if (comment.length > longestToken) throw tooLong(parser)
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
    write: text => {
      for (let at = 0; at < text.length; at += windowLength) parser.write(text.slice(at, at + windowLength))
    },
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
