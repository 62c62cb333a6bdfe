import { matching } from './shape.ts';

/** What messages of edges and of nodes have in common. */
export const AGENT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
export const instance = matching(/^[\x21-\x7e]{1,128}$/, 'an instance');
export const cursor = matching(/^[\x21-\x7e]{1,1024}$/, 'a cursor');
export const questionId = matching(/^[A-Za-z0-9-]{1,64}$/, 'an id');
