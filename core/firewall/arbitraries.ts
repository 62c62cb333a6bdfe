/** Random policies, packets and whole edges, for the tests of other rooms: nothing that ships imports this. */
export * from './testing/arbitraries.ts';
export * from './testing/edge-views.ts';
