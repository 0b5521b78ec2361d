import { expect, test } from 'vitest';
import { EventParser, type ServerEvent } from './sse';

function parse(...pieces: string[]): { events: ServerEvent[]; parser: EventParser } {
  const events: ServerEvent[] = [];
  const parser = new EventParser((e) => events.push(e));
  for (const p of pieces) parser.push(p);
  return { events, parser };
}

const event = (data: string, type = 'message', lastEventId = ''): ServerEvent => ({ type, data, lastEventId });

test('the examples of the standard', () => {
  expect(parse('data: YHOO\ndata: +2\ndata: 10\n\n').events).toEqual([event('YHOO\n+2\n10')]);
  expect(parse(': test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n').events).toEqual([
    event('first event', 'message', '1'),
    event('second event'),
  ]);
  expect(parse('data\n\ndata\ndata\n\ndata:').events).toEqual([event(''), event('\n')]);
  expect(parse('data:test\n\ndata: test\n\n').events).toEqual([event('test'), event('test')]);
});

test('any end of line, in any pieces', () => {
  const stream = 'event: enter\r\nid: 7-ab\r\ndata: {"x":\r\ndata: "é"}\r\n\r\nevent: exit\rdata: 2\r\r\ndata: 3\n\n';
  const want = [event('{"x":\n"é"}', 'enter', '7-ab'), event('2', 'exit', '7-ab'), event('3', 'message', '7-ab')];
  expect(parse(stream).events).toEqual(want);
  for (let size = 1; size < stream.length; size++) {
    const pieces = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) => stream.slice(i * size, (i + 1) * size));
    expect(parse(...pieces).events, `pieces of ${size}`).toEqual(want);
  }
});

test('an event that is not whole is none', () => {
  expect(parse('data: 1\n\ndata: 2\n').events).toEqual([event('1')]);
});

test('ids and waits', () => {
  const { events, parser } = parse('retry: 2500\nid: 1\n\nid: a\0b\ndata: x\n\nretry: soon\n\n');
  expect(parser.retry).toBe(2500);
  expect(parser.lastEventId).toBe('1');
  expect(events).toEqual([event('x', 'message', '1')]);
});

test('an event without an end is refused', () => {
  const { parser } = parse();
  expect(() => {
    for (let i = 0; i < 20; i++) parser.push('data: ' + 'x'.repeat(1 << 20) + '\n');
  }).toThrow('an event of more than');
});
