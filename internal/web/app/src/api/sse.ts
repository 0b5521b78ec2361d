// Server-sent events (HTML standard, section 9.2.6), read from a stream of fetch:
// EventSource cannot send a key in a header.

/** One event. */
export interface ServerEvent {
  /** Its name; message, if it has none. */
  type: string;
  data: string;
  /** The last id that was sent, which resumes the stream behind this event. */
  lastEventId: string;
}

/** The longest event that is taken: two features of 8 MiB, which no page needs. */
const maxLength = 16 << 20;

/** Turns text, in pieces of any length, into events. */
export class EventParser {
  /** The id with which to resume; empty: none was sent. */
  lastEventId = '';
  /** Milliseconds to wait before the stream is asked for again, if it was said. */
  retry: number | undefined;

  private rest = '';
  /** The last piece ended with a carriage return: a line feed next is part of it. */
  private afterReturn = false;
  private type = '';
  private data: string[] = [];
  private id: string | undefined;
  private length = 0;

  constructor(private readonly onEvent: (event: ServerEvent) => void) {}

  /** Takes the next piece of the stream. What is not whole waits for the rest. */
  push(text: string): void {
    if (text === '') return;
    if (this.afterReturn && text.startsWith('\n')) text = text.slice(1);
    this.afterReturn = text.endsWith('\r');
    const lines = text.split(/\r\n|\r|\n/);
    lines[0] = this.rest + lines[0]!;
    this.rest = lines.pop()!;
    for (const line of lines) this.line(line);
    if (this.rest.length + this.length > maxLength) throw new Error(`an event of more than ${maxLength} characters`);
  }

  private line(line: string): void {
    if (line === '') {
      this.dispatch();
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return; // a comment
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    switch (name) {
      case 'event':
        this.type = value;
        break;
      case 'data':
        this.data.push(value);
        this.length += value.length + 1;
        break;
      case 'id':
        if (!value.includes('\0')) this.id = value;
        break;
      case 'retry':
        if (/^\d+$/.test(value)) this.retry = Number(value);
        break;
    }
  }

  private dispatch(): void {
    if (this.id !== undefined) this.lastEventId = this.id;
    const { type, data } = this;
    this.type = '';
    this.data = [];
    this.length = 0;
    if (data.length === 0) return;
    this.onEvent({ type: type || 'message', data: data.join('\n'), lastEventId: this.lastEventId });
  }
}
