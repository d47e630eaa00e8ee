/*
 * Displacements of least cost over a tree of points (Felzenszwalb and Huttenlocher, IJCV 2005;
 * Heinrich et al., IEEE TMI 2013). The tree spans the points along edges between blocks of the
 * least difference, so that smoothing goes along organs and not across their borders. An edge costs
 * the square of the difference of its ends' displacements, which is a sum over axes: from children
 * to their parent the least sums go along one axis after the other.
 *
 * Edges of equal difference are taken in the order of their numbers, 3 * point + axis.
 */
#include "kernels/progress.h"
#include "kernels/register/register_voxel.h"
#include "kernels/simd_clones.h"

#include <omp.h>

/* ---- the tree ---- */

static int64_t stride_of(const lob_register_points *p, int axis)
{
    return axis == 0 ? 1 : axis == 1 ? p->n[0] : p->n[0] * p->n[1];
}

static int64_t find(int64_t *set, int64_t i)
{
    while (set[i] != i) i = set[i] = set[set[i]];
    return i;
}

/* Choose edges: Kruskal's. */
static void choose_edges(lob_register_tree *t, const lob_register_points *p)
{
    for (int64_t i = 0; i < p->count; i++) {
        t->set[i] = i;
        t->edges[i] = 0;
    }
    for (int64_t k = 0; k < 3 * p->count && t->key[k] != LOB_REGISTER_NO_EDGE; k++) {
        const int64_t edge = (int64_t)(t->key[k] & UINT32_MAX), from = edge / 3;
        const int axis = (int)(edge % 3);
        const int64_t to = from + stride_of(p, axis);
        const int64_t a = find(t->set, from), b = find(t->set, to);
        if (a == b) continue;
        t->set[a > b ? a : b] = a > b ? b : a;
        t->edges[from] |= (uint8_t)(1 << (2 * axis + 1));
        t->edges[to] |= (uint8_t)(1 << (2 * axis));
    }
}

/* Order points from the middle one on. */
static void order_points(lob_register_tree *t, const lob_register_points *p)
{
    int64_t n = 0;
    t->order[n++] = p->count / 2;
    t->parent[p->count / 2] = -1;
    for (int64_t i = 0; i < p->count; i++) {
        const int64_t at = t->order[i];
        t->child[i] = n;
        for (int e = 0; e < 6; e++) {
            const int64_t to = at + (e % 2 ? 1 : -1) * stride_of(p, e / 2);
            if (!(t->edges[at] >> e & 1) || to == t->parent[at]) continue;
            t->parent[to] = at;
            t->order[n++] = to;
        }
    }
    t->child[p->count] = n;
}

/* Find branches: of less than 1/64 of the points, and not part of such a one. */
static void find_branches(lob_register_tree *t, int64_t count)
{
    t->branches = 0;
    t->least = count / 64 + 1;
    for (int64_t i = count - 1; i >= 0; i--) {
        t->size[i] = 1;
        for (int64_t j = t->child[i]; j < t->child[i + 1]; j++) t->size[i] += t->size[j];
    }
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = t->child[i]; t->size[i] >= t->least && j < t->child[i + 1]; j++)
            if (t->size[j] < t->least) t->branch[t->branches++] = j;
}

/* Bytes of a tree and what it is made of. */
static int64_t tree_bytes(const lob_register_points *p)
{
    return (9 * p->count + 1) * (int64_t)sizeof(int64_t) + p->count;
}

static lob_status tree_make(lob_register_tree *t, lob_register_call *c,
                            const lob_register_points *p, const lob_register_image *image)
{
    LOB_TRY(lob_budget_alloc(&c->budget, &t->parent, tree_bytes(p), 1, c->error));
    t->order = t->parent + p->count;
    t->child = t->order + p->count;
    t->set = t->child + p->count + 1;
    t->size = t->set + p->count;
    t->branch = t->size + p->count;
    t->key = (uint64_t *)(t->branch + p->count);
    t->edges = (uint8_t *)(t->key + 3 * p->count);
    LOB_TRY(c->loops->keys(t->key, c, p, image));
    choose_edges(t, p);
    order_points(t, p);
    find_branches(t, p->count);
    return LOB_OK;
}

/* ---- edges ---- */

/* out[j][x] = least of in[i][x] + cost of (j, i), of side rows of n. */
LOB_SIMD_CLONES(void, least_along, (out, in, cost, side, n), int32_t *restrict out,
                const int32_t *restrict in, const int32_t *cost, int side, int64_t n)
{
    for (int j = 0; j < side; j++) {
        int32_t *restrict const to = out + j * n;
        for (int i = 0; i < side; i++) {
            const int32_t more = cost[j - i + side - 1];
            const int32_t *restrict const from = in + i * n;
            if (i == 0)
                for (int64_t x = 0; x < n; x++) to[x] = from[x] + more;
            else
                for (int64_t x = 0; x < n; x++)
                    to[x] = from[x] + more < to[x] ? from[x] + more : to[x];
        }
    }
}

/* rows x n becomes n x rows. */
static void transpose(int32_t *restrict out, const int32_t *restrict in, int rows, int64_t n)
{
    for (int64_t x = 0; x < n; x++)
        for (int j = 0; j < rows; j++) out[x * rows + j] = in[j * n + x];
}

LOB_SIMD_CLONES(void, add_message, (cost, message, labels), int32_t *restrict cost,
                const int32_t *restrict message, int64_t labels)
{
    int32_t least = message[0];
    for (int64_t l = 0; l < labels; l++) least = message[l] < least ? message[l] : least;
    for (int64_t l = 0; l < labels; l++) cost[l] += message[l] - least;
}

/* Add to the parent's costs what its child adds at least. work: two times labels. */
static void send_up(const lob_register_costs *k, int64_t parent, int64_t child, int32_t *work)
{
    int32_t edge[2 * LOB_REGISTER_MOST_ALONG], *const other = work + k->labels;
    const int32_t *from = k->cost + child * k->labels;
    for (int a = 2; a >= 0; a--) { /* z, y, x become x, z, y, then y, x, z, then as they were */
        const int side = k->side[a];
        for (int i = 0; i < 2 * side - 1; i++)
            edge[i] = lob_register_edge_cost(k, a, parent, child, i - side + 1);
        least_along(work, from, edge, side, k->labels / side);
        transpose(other, work, side, k->labels / side);
        from = other;
    }
    add_message(k->cost + parent * k->labels, other, k->labels);
}

/* ---- choices ---- */

LOB_SIMD_CLONES(int64_t, first_least, (cost, labels), const int32_t *cost, int64_t labels)
{
    int32_t least = cost[0];
    int64_t l = 0;
    for (int64_t i = 0; i < labels; i++) least = cost[i] < least ? cost[i] : least;
    while (cost[l] != least) l++;
    return l;
}

/* Add what the edge to the parent costs, which chose a displacement. */
LOB_SIMD_CLONES(void, add_edge, (out, cost, k, parent, child, chosen), int32_t *restrict out,
                const int32_t *restrict cost, const lob_register_costs *k, int64_t parent,
                int64_t child, int64_t chosen)
{
    int32_t more[3][LOB_REGISTER_MOST_ALONG],
        plane[LOB_REGISTER_MOST_ALONG * LOB_REGISTER_MOST_ALONG];
    const int *const n = k->side;
    for (int a = 0; a < 3; chosen /= n[a++])
        for (int i = 0; i < n[a]; i++)
            more[a][i] = lob_register_edge_cost(k, a, parent, child, (int)(chosen % n[a]) - i);
    for (int y = 0; y < n[1]; y++)
        for (int x = 0; x < n[0]; x++) plane[y * n[0] + x] = more[0][x] + more[1][y];
    for (int z = 0; z < n[2]; z++)
        for (int i = 0; i < n[0] * n[1]; i++) *out++ = *cost++ + more[2][z] + plane[i];
}

/* Where a point goes by its choice, and beside it. */
static void settle(float *moved, const lob_register_costs *k, int64_t point, const int32_t *cost,
                   int64_t l)
{
    const int64_t stride[3] = {1, k->side[0], k->side[0] * k->side[1]};
    for (int a = 0; a < 3; a++) {
        const int at = (int)(l / stride[a] % k->side[a]), half = k->side[a] / 2;
        const bool ends = at == 0 || at == k->side[a] - 1;
        const float more =
            ends ? 0.0f : lob_register_beside(cost[l - stride[a]], cost[l], cost[l + stride[a]]);
        moved[a * k->points.count + point] =
            k->points.u[a][point] + (float)k->level.quant * ((float)(at - half) + more);
    }
}

/* ---- solving ---- */

/* A call, for whoever works on a branch. */
typedef struct {
    const lob_register_costs *k;
    lob_register_call *c;
    const lob_register_tree *t;
    int32_t *work;   /* 2 * labels for each thread */
    int64_t *choice; /* of each point */
    float *moved;    /* where points go, along each axis: edges are between where they were */
} solving;

static int32_t *own_work(const solving *s)
{
    return s->work + omp_get_thread_num() * 2 * s->k->labels;
}

/* order[i] hears from its children, which have heard from theirs. */
static void hear(const solving *s, int64_t i)
{
    for (int64_t j = s->t->child[i]; j < s->t->child[i + 1]; j++)
        send_up(s->k, s->t->order[i], s->t->order[j], own_work(s));
}

/* The choice of order[i], whose parent has chosen. */
static void choose(solving *s, int64_t i)
{
    const int64_t point = s->t->order[i], parent = s->t->parent[point];
    int32_t *cost = s->k->cost + point * s->k->labels;
    if (parent >= 0) {
        int32_t *const own = own_work(s);
        add_edge(own, cost, s->k, parent, point, s->choice[parent]);
        cost = own;
    }
    s->choice[point] = first_least(cost, s->k->labels);
    settle(s->moved, s->k, point, cost, s->choice[point]);
}

/*
 * Points of a branch, depth after depth: those of one depth stand together in order, their children
 * too. up: children before parents.
 */
static void do_branch(solving *s, int64_t begin, int64_t end, bool up)
{
    if (begin == end) return;
    for (int64_t i = begin; i < end && !up; i++) choose(s, i);
    do_branch(s, s->t->child[begin], s->t->child[end], up);
    for (int64_t i = begin; i < end && up; i++) hear(s, i);
}

static void do_branches(solving *s, bool up)
{
    const int threads = s->c->context->threads;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1)
    for (int64_t b = 0; b < s->t->branches; b++) {
        if (lob_progress_stopped(s->c->progress)) continue;
        do_branch(s, s->t->branch[b], s->t->branch[b] + 1, up);
        lob_progress_report(s->c->progress, s->t->size[s->t->branch[b]]);
    }
}

static void solve(solving *s)
{
    const int64_t count = s->k->points.count;
    do_branches(s, true);
    for (int64_t i = count - 1; i >= 0; i--)
        if (s->t->size[i] >= s->t->least) hear(s, i);
    for (int64_t i = 0; i < count; i++)
        if (s->t->size[i] >= s->t->least) choose(s, i);
    do_branches(s, false);
}

lob_status lob_register_solve(const lob_register_costs *k, lob_register_call *c,
                              const lob_register_tree *t)
{
    const lob_register_points *const p = &k->points;
    const int64_t each = 2 * (int64_t)k->labels * c->context->threads;
    const int64_t all = each + 3 * p->count;
    int32_t *work;
    LOB_TRY(lob_budget_alloc(&c->budget, &work, all, sizeof *work, c->error));
    solving s = {k, c, t, work, t->set, (float *)(work + each)};
    solve(&s);
    memcpy(p->u[0], s.moved, 3 * (size_t)p->count * sizeof *s.moved);
    lob_budget_free(&c->budget, work, all, sizeof *work);
    return LOB_OK;
}

lob_status lob_register_tree_solve(const lob_register_costs *k, lob_register_call *c,
                                   const lob_register_image *image)
{
    lob_register_tree t = {0};
    lob_status st = tree_make(&t, c, &k->points, image);
    if (st == LOB_OK) st = c->loops->solve(k, c, &t);
    lob_budget_free(&c->budget, t.parent, tree_bytes(&k->points), 1);
    return st == LOB_OK && lob_progress_stopped(c->progress) ? LOB_ECANCEL : st;
}
