/** The edge that a first start makes, and what an edge is called when nobody named it. */
export const LOCAL_EDGE = 'local';
