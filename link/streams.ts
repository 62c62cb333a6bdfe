/**
 * The requests by which nodes open streams of bytes: `GET` or `POST STREAM_PATH/NODE/SERVER/DIRECTION`, with the token that
 * control sent over the link. On the host of control they go to the socket of the link, which takes HTTP beside messages.
 */
export const STREAM_PATH = '/api/node-streams';

/** `up`: from the node to control, `down`: from control to the node. */
export type StreamDirection = 'up' | 'down';
